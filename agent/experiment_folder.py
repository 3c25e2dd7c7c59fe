"""Folders of what is no diagnosis: how they are known, what came of each in a line, and which commands read them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from shlex import quote
from typing import NamedTuple


class ExperimentKind(NamedTuple):
    """What lies in such a folder, by kind."""

    name: str
    asked: str
    """File that is written first."""
    answer: str
    """File that is written last: JSON with `headline` and `command`."""

    def serves(self, folder: Path) -> str:
        """Name the commands that read it."""
        named = quote(str(folder))
        return (
            f"`vgo-agent resume {named}` goes on with it or answers again; `vgo-agent verify {named}` checks it, "
            f"`vgo-agent analyze {named}` reads its runs"
        )


STUDY = ExperimentKind("study", "study.yaml", "study.json")
SWEEP = ExperimentKind("sweep", "sweep.yaml", "sweep.json")
MEASUREMENT = ExperimentKind("measurement", "measure.yaml", "measure.json")
PROFILE = ExperimentKind("profile", "profile.yaml", "profile.json")
KINDS = (STUDY, SWEEP, MEASUREMENT, PROFILE)


def experiment_in(folder: Path) -> ExperimentKind | None:
    """Tell what a folder holds; None where it is none of these."""
    return next((one for one in KINDS if (folder / one.asked).is_file()), None)


class ExperimentOutcome(NamedTuple):
    """What came of it."""

    headline: str
    command: str


def outcome(folder: Path, one: ExperimentKind) -> ExperimentOutcome:
    """Read its line; of one that has not come to its answer, that."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((folder / one.answer).read_text(encoding="utf-8"))
        return ExperimentOutcome(f"{one.name}: {found['headline']}", " ".join(found["command"]))
    return ExperimentOutcome(f"({one.name}, unfinished)", "")
