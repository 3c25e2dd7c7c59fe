"""Where cases lie, by the names of their folders: light, so that a wrong name is refused before any table is read."""

from __future__ import annotations

import os
from pathlib import Path

from ...knowledge.errors import VgoError

CASES = Path(__file__).parents[1] / "cases"
"""Those that come along."""
CASE, TRUTH, RECORDING, TABLE, MANIFEST = "case.yaml", "truth.yaml", "recording.json", "runs.parquet", "MANIFEST.sha256"


def case_folders(parent: Path) -> list[Path]:
    """List the folders that stand for cases, whole or not, in the order of their names."""
    return sorted(path for path in parent.glob("*") if path.is_dir() and not path.name.startswith((".", "_")))


def refuse_no_cases(parent: Path) -> None:
    """Raise VgoError where no folder has anything of a case: often its parent or the case itself was meant."""
    if _is_case(parent):
        raise VgoError(f"{parent} is one case: give the folder in which it lies, and --cases {parent.absolute().name}.")
    folders = case_folders(parent)
    if any(map(_is_case, folders)):
        return
    if below := next((path for path in folders if any(map(_is_case, case_folders(path)))), None):
        raise VgoError(f"{parent} holds no cases itself: give the folder in which they lie, {below}.")
    raise VgoError(f"There is no case in {parent}; record one with `vgo-agent eval record NAME`.")


def _is_case(folder: Path) -> bool:
    return any(os.path.exists(folder / name) for name in (CASE, TRUTH, RECORDING, TABLE, MANIFEST))
