"""This machine where no program is named: what a mitigation asks of it, and what only a program can meet."""

from __future__ import annotations

import os
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


class Here(NamedTuple):
    """Whether a mitigation can be tried on this machine."""

    by_tool: bool
    """False: a person does it, by the steps."""
    unmet: tuple[str, ...]
    """Why it cannot be tried, each with its cure."""
    needs: tuple[str, ...]
    """What a program must be."""


def nobody() -> Subject:
    """Stand in for the program."""
    from ...tools.subject import Subject

    return Subject(command=("PROGRAM",), argv=("/bin/true",), directory=os.getcwd())


def this_machine(known: Knowledge, root: Path = Path("/")) -> Machine:
    """Survey it for everything that mitigations ask for."""
    from ...tools.survey import survey

    return survey(nobody(), [mitigation.applies for mitigation in known.mitigations.values()], root=root)


def tried_here(mitigation: Mitigation, machine: Machine) -> Here:
    """Judge by the machine alone."""
    from ...tools.mitigation.parameters import with_values
    from ...tools.mitigation.preconditions import unmet

    needs = tuple(words for name, words in OF_A_PROGRAM.items() if getattr(mitigation.applies, name))
    asked = mitigation.applies.model_copy(update=dict.fromkeys(OF_A_PROGRAM, False))
    try:
        with_values(mitigation, {}, machine)
    except VgoError as error:  # the default of a parameter is more than this machine has
        return Here(mitigation.apply is not None, (str(error),), needs)
    return Here(mitigation.apply is not None, unmet(asked, machine, nobody(), None), needs)
