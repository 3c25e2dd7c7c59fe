"""What a mitigation asks of this machine, and what only a program can meet; with a program or without one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...knowledge.errors import VgoError

if TYPE_CHECKING:
    from ...knowledge.loader import Knowledge
    from ...knowledge.schema import Mitigation
    from ...tools.machine import Machine
    from ...tools.subject import Subject

OF_A_PROGRAM = {
    "dynamic": "is linked dynamically",
    "python": "runs in Python",
    "openmp": "links OpenMP",
    "inputs": "has known input files",
    "single_threaded": "keeps one CPU busy",
    "multi_threaded": "keeps several CPUs busy",
}
"""Conditions that only a program can meet, in words that follow `a program that`."""
SEEN_LATER = ("single_threaded", "multi_threaded")
"""Those of them that only a profile shows."""


class Applicability(NamedTuple):
    """Whether a mitigation can be tried on this machine."""

    by_tool: bool
    """False: a person does it, by the steps."""
    unmet: tuple[str, ...]
    """Why it cannot be tried, each with its cure."""
    needs: tuple[str, ...]
    """What a program must be."""


def nobody(root: Path = Path("/")) -> Subject:
    """Stand in for the program."""
    from ...tools.subject import Subject

    return Subject(command=("PROGRAM",), argv=("/bin/true",), directory=os.getcwd(), root=str(root))


def surveyed(subject: Subject, mitigations: Iterable[Mitigation]) -> Machine:
    """Survey the machine of a program for everything that these mitigations ask for."""
    from ...tools.survey import survey
    from ..trial_runs import launcher_of

    conditions = [mitigation.applies for mitigation in mitigations]
    return survey(subject, conditions, root=Path(subject.root), launcher=launcher_of(subject))


def this_machine(known: Knowledge, root: Path = Path("/")) -> Machine:
    """Survey it for everything that mitigations ask for, where no program is named."""
    return surveyed(nobody(root), known.mitigations.values())


def tried_here(mitigation: Mitigation, machine: Machine, subject: Subject | None = None) -> Applicability:
    """Judge by the machine, and by the program as far as it can be seen before it runs; None: by the machine alone."""
    from ...tools.mitigation.parameters import with_values
    from ...tools.mitigation.preconditions import beyond_reach, unmet

    needs = tuple(words for name, words in OF_A_PROGRAM.items() if getattr(mitigation.applies, name))
    left_open = SEEN_LATER if subject else OF_A_PROGRAM
    asked = mitigation.applies.model_copy(update=dict.fromkeys(left_open, False))
    by_tool, program = mitigation.apply is not None, subject or nobody()
    try:
        filled = with_values(mitigation, {}, machine)
    except VgoError as error:  # the default of a parameter is more than this machine has
        return Applicability(by_tool, (str(error),), needs)
    why = (*unmet(asked, machine, program, None), *beyond_reach(filled, machine, program))
    return Applicability(by_tool, tuple(dict.fromkeys(why)), needs)
