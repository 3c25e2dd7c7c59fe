"""What verify and replay share: the folder that is meant, and what is said of it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..run_folder import RunFolder
from ..terminal import answer

if TYPE_CHECKING:
    from ..run_folder import RunFolder
    from ..verify import Report


def folder_of(arguments: argparse.Namespace) -> RunFolder:
    """Find the run or experiment that is named; light, so that a wrong name is told at once."""
    from ..experiment_folder import experiment_in
    from ..settings import effective

    settings, _ = effective(vars(arguments))
    place = place_meant(arguments.run, settings.out)
    return RunFolder(place) if experiment_in(place) else RunFolder.find(place)


def tell(report: Report, same: str, arguments: argparse.Namespace) -> int:
    """Answer with a report; exit 1 when it names a difference."""
    counts = f"{report.events} events, {report.artefacts} artefacts, {report.outputs} outputs"
    counts += f"\nTip {report.tip}; before its end record, as the report tells it, {report.reported}"
    words = f"{same}: {counts}" if report.ok else f"Not the same: {report.difference}"
    words += f"\n{report.note[:1].upper()}{report.note[1:]}." if report.note else ""
    answer(asdict(report), words, arguments.json)
    return 0 if report.ok else 1


def run_meant(words: str, out: Path) -> RunFolder:
    """Take a path as it stands, else as a name among the runs."""
    return RunFolder.find(place_meant(words, out))


def place_meant(words: str, out: Path) -> Path:
    """The same, whatever lies there."""
    path = Path(words)
    return out / words if not path.exists() and (out / words).exists() else path
