"""What is asked of a host and what it answers, as JSON."""

from __future__ import annotations

from typing import Any, Literal

from ...knowledge.shape import Frozen
from ...layers.schema import Layer
from ..execution.expected import Expected
from ..experiment.condition import Block, Condition
from ..machine import Machine
from ..mitigation.checks import Check
from ..study.design import StudyDesign
from ..study.laid_out import StudyScope
from ..study.setting import StudySetting
from ..study.warm_up import WarmUpRun
from ..subject import Subject
from ..sweep.treatments import Cells


class Order(Frozen):
    """One message to a host."""

    act: Literal["look", "run", "prove", "lay_out", "warm_up"]
    """look: say what there is; run: make the blocks; prove: show that the mitigation is in force; lay_out: say which
    settings a study has there; warm_up: run each of them once."""
    subject: Subject
    preconditions: bool = False
    """With `look`: answer all that the preconditions of mitigations ask for."""
    trial: bool = False
    """With `look`: run the program once."""
    lenient: bool = False
    """With `trial`: it may fail, since it is one setting of many."""
    expected: Expected = Expected()
    series: str = ""
    layers: dict[str, Layer] = {}
    """By spec, all that a condition or a look may name."""
    on: tuple[str, ...] = ()
    """Layers of the series."""
    blocks: tuple[Block, ...] = ()
    conditions: dict[str, Condition] = {}
    """Of these blocks, by key; with `prove`, the one to prove."""
    cells: Cells | None = None
    """Of these blocks, where they are those of a sweep."""
    settings: tuple[StudySetting, ...] = ()
    """With `warm_up`."""
    wanted: StudyScope | None = None
    """With `lay_out`: the study."""
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


class HostAnswer(Frozen):
    """What a host gave."""

    rows: tuple[dict[str, Any], ...] = ()
    """With `began_s`, by the clock of the host."""
    error: str = ""
    """One sentence: what is wrong and what cures it."""
    checks: tuple[Check, ...] = ()
    broke: str = ""
    """What the mitigation did to the program there."""
    sight: Sight | None = None
    design: StudyDesign | None = None
    """Of a study, as it would be there."""
    tried: tuple[WarmUpRun, ...] = ()
    """Its warm-up runs."""
    clock_s: float = 0.0
    spent_s: float = 0.0
    """For which the program ran."""
    lost: bool = False
    """The process that measures there ended or was ended before it answered."""
