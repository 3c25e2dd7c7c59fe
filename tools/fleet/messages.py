"""What is asked of a host and what it answers, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from ...knowledge.schema import Mitigation
from ...layers.schema import Layer
from ..execution.executor import Turn
from ..execution.expected import Expected
from ..execution.samples import first_of_run
from ..levels import Levels
from ..machine import Machine
from ..mitigation.checks import Check
from ..row import Row
from ..study.design import Design
from ..study.laid_out import Wanted
from ..study.treatments import StudySettings
from ..study.warm_up import Tried
from ..subject import Frozen, Subject
from ..sweep.treatments import Cells


class Order(Frozen):
    """One message to a host."""

    act: Literal["look", "run", "prove", "lay_out", "warm_up"]
    """look: say what there is; run: make the turns; prove: show that the mitigation is in force; lay_out: say which
    settings a study has there; warm_up: run each of them once."""
    subject: Subject
    conditions: bool = False
    """With `look`: answer all that the preconditions of mitigations ask for."""
    trial: bool = False
    """With `look`: run the program once."""
    lenient: bool = False
    """With `trial`: it may fail, since it is one setting of many."""
    expected: Expected = Expected()
    """What is known of baseline runs."""
    series: str = ""
    layers: dict[str, Layer] = {}
    """By spec, all that a turn or a look may name."""
    on: tuple[str, ...] = ()
    """Layers of the series."""
    turns: tuple[Turn, ...] = ()
    treatments: Annotated[Cells | StudySettings | Levels, Field(discriminator="kind")] | None = None
    """How turns are made whose conditions are more than a mitigation and none."""
    wanted: Wanted | None = None
    """With `lay_out`: the study."""
    mitigation: Mitigation | None = None
    source: str = ""
    """The user's file that the mitigation was read from."""
    patience_s: float = 60.0
    """How long to wait for another benchmark on this host."""


class Sight(Frozen):
    """What there is on one host."""

    machine: Machine
    program: str = ""
    """Why the program cannot be run there, with the cure; empty when it can."""
    files: dict[str, str] = {}
    """SHA-256 of the program and of the files among its arguments, by path; empty where there is none."""
    wall_s: float = 0.0
    """Of the trial run."""
    layers: dict[str, dict[str, str]] = {}
    """Spec to columns that cannot be had, with the reason; the key is empty where that holds for all."""
    put_back: tuple[str, ...] = ()
    """What an agent that was killed there had left changed."""


class Answer(Frozen):
    """What a host gave."""

    rows: tuple[dict[str, Any], ...] = ()
    """With `began_s`, by the clock of the host."""
    error: str = ""
    """One sentence: what is wrong and what cures it."""
    checks: tuple[Check, ...] = ()
    broke: str = ""
    """What the mitigation did to the program there."""
    told: tuple[str, ...] = ()
    sight: Sight | None = None
    design: Design | None = None
    """Of a study, as it would be there."""
    tried: tuple[Tried, ...] = ()
    """Its warm-up runs."""
    clock_s: float = 0.0
    """The clock of the host when it answered."""
    spent_s: float = 0.0
    """For which the program ran."""
    lost: bool = False
    """The process that measures there ended or was ended before it answered."""


def runs_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Gather rows by run."""
    runs: list[list[Row]] = []
    for row in rows:
        if first_of_run(row) or not runs:
            runs.append([])
        runs[-1].append(row)
    return runs
