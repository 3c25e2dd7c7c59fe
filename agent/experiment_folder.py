"""Folders of what is no diagnosis: which kinds there are, and which commands read them."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote

REQUEST, ANSWER = "experiment.json", "answer.json"
"""Files that are written first and last: an object with `kind`, and one with `headline` and `command`."""
KINDS = {
    "calibration": ("calibration", "CalibrationRequest"),
    "measurement": ("step", "StepRequest"),
    "profile": ("step", "StepRequest"),
    "study": ("study", "StudyRequest"),
    "sweep": ("sweep.request", "SweepRequest"),
}
"""Module and class of what each kind is asked for."""


def experiment_in(folder: Path) -> str:
    """Tell what a folder holds; empty where it is none of these, `experiment` where its request is damaged."""
    path = folder / REQUEST
    try:
        kind = json.loads(path.read_bytes())["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        kind = None
    return kind if isinstance(kind, str) and kind in KINDS else "experiment" if path.is_file() else ""


def serves(folder: Path) -> str:
    """Name the commands that read it."""
    named = quote(str(folder))
    return (
        f"`vgo-agent resume {named}` goes on with it or answers again; `vgo-agent verify {named}` checks it, "
        f"`vgo-agent analyze {named}` reads its runs"
    )
