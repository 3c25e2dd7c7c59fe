"""Which run folder a user means."""

from __future__ import annotations

from pathlib import Path

from ..run_folder import RunFolder


def run_meant(words: str, out: Path) -> RunFolder:
    """Take a path as it stands, else as a name among the runs."""
    return RunFolder.find(place_meant(words, out))


def place_meant(words: str, out: Path) -> Path:
    """The same, whatever lies there."""
    path = Path(words)
    return out / words if not path.exists() and (out / words).exists() else path
