"""What programs are composed of: mechanisms and decoys, and per language a frame, base loads and skeletons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ...knowledge.time_states import TimeState
from ..workloads.workload import Need

Language = Literal["c", "python", "sh"]
Trigger = Literal["random", "graded", "modulus", "spells", "left", "phases", "beside", "own"]
"""When a mechanism is on. random: each run draws; graded: each run draws how much; modulus: of the number of the run;
spells: it stays as it is for some runs; left: the run before drew it and left it in a file; beside: another program has
spells by the clock; phases: each of a few phases of a run draws for itself; own: the snippet says."""
OF_ANY: tuple[Trigger, ...] = ("random", "graded", "modulus", "spells", "left", "phases")

CONSTANT, LINE = re.compile(r"@([A-Z]+)"), re.compile(r"^([ \t]*)@([A-Z]+)$", re.M)
NEIGHBOUR = """\
import os, random, sys, time
forced, parent = int(sys.argv[1]), os.getppid()
{step}
print("ready", flush=True)
while os.getppid() == parent:
    end = time.monotonic() + (random.uniform({on:.2f}, 2 * {on:.2f}) if forced < 0 else 0.05)
    while forced and time.monotonic() < end:
        began = time.monotonic()
        step()
        time.sleep((time.monotonic() - began) * {rest:.2f})
    if forced < 1: time.sleep(random.uniform({off:.2f}, 2 * {off:.2f}) if forced < 0 else 0.05)
"""
"""It works for `rest` to one of its time, in spells, or always where `off` is 0; forced: always, or never."""


class ProgramPart(Frozen):
    """Text in one language."""

    code: str = ""
    """Stands before the work."""
    begin: str = ""
    """Is done before the time is taken."""
    end: str = ""
    """Is done after the time was told."""


class Snippet(ProgramPart):
    """A mechanism, a decoy or a base load."""

    ms: float = 0.0
    """What one unit of its dose costs, roughly: to draw doses by. What it costs here is measured."""
    most: int | None = None
    """Units."""
    own: str = ""
    """How much it is on, where no trigger says."""


class ProgramSkeleton(ProgramPart):
    """Who does the pieces of the work, and how the timed thread comes to wait for it."""

    body: str
    other: Literal["none", "even", "all"] = "none"
    """Pieces that somebody else does than the timed thread."""
    waits: tuple[TimeState, ...] = ()
    """In which it waits for that."""


class ProgramLanguage(Frozen):
    """How a program is written in one language; what @CAPITALS stand for is said in `compose.py`."""

    prelude: str
    frame: str
    amount: str
    """Sets how much one mechanism is on."""
    state: str
    """What one mechanism keeps from run to run."""
    leave: str
    """Draws that for the next run."""
    per_mille: bool = False
    """Its shares are whole numbers."""
    triggers: dict[Trigger, str]
    call: str
    """A mechanism or a decoy, in one piece."""
    phase: str = ""
    """A mechanism in every so many pieces, each of which draws for itself."""
    load: str
    loads: dict[str, Snippet]
    skeletons: dict[str, ProgramSkeleton]


class Mechanism(Frozen):
    """What makes runs slow, or of a decoy: what does not."""

    key: str
    what: str
    """Stands behind `The program`."""
    states: tuple[TimeState, ...] = ()
    """Where its time goes, any of them."""
    factors: tuple[str, ...] = ()
    """Keys of the factors that are right, any of them."""
    remedies: tuple[str, ...] = ()
    """Keys of the mitigations that may be claimed; none: no setting can help."""
    needs: tuple[Need, ...] = ()
    triggers: tuple[Trigger, ...] = OF_ANY
    unseen: bool = False
    """No counter shows it everywhere: to say where the time goes is right without a factor."""
    beside: str = ""
    """Python: `step()` of a program that runs beside, by spells that are the trigger."""
    rest: float | None = None
    """It runs beside at all times whatever the trigger, and rests for so much of the time that it works."""
    pins: bool = False
    """It keeps the timed thread on one CPU, so nobody else may do pieces of the work."""
    file: bool = False
    """It reads a file of one megabyte a unit."""
    group: Literal["", "cpu", "memory"] = ""
    """It goes into a control group that is held to a share of a CPU, or to some megabytes."""
    constants: dict[str, str] = {}
    languages: Annotated[dict[Language, Snippet], Field(min_length=1)]


class ProgramParts(Frozen):
    """`mechanisms.yaml`."""

    mechanisms: tuple[Mechanism, ...]
    decoys: tuple[Mechanism, ...]


class ProgramLanguages(Frozen):
    """`languages.yaml`."""

    languages: dict[Language, ProgramLanguage]


@cache
def parts() -> ProgramParts:
    """Read the mechanisms and decoys."""
    return read_model(Path(__file__).parent / "mechanisms.yaml", ProgramParts)


@cache
def languages() -> dict[Language, ProgramLanguage]:
    """Read how programs are written."""
    return read_model(Path(__file__).parent / "languages.yaml", ProgramLanguages).languages


def filled(text: str, values: Mapping[str, object]) -> str:
    """Put values in place of @CAPITALS until none of them is left; one alone on its line keeps its indentation."""

    def whole(match: re.Match[str]) -> str:
        if match[2] not in values:
            return match[0]
        return "\n".join(match[1] + line for line in str(values[match[2]]).rstrip().split("\n"))

    while True:
        put = LINE.sub(whole, text)
        put = CONSTANT.sub(lambda name: str(values.get(name[1], name[0])), put)
        if put == text:
            return text
        text = put
