"""Begin or go on with a diagnosis; light to import, so that the program runs while heavy libraries load."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..knowledge.errors import VgoError
from ..tools.subject import NO_PLAN, Limits, TrialPlan
from .clock import BudgetClock
from .model.chosen import ModelChoice
from .place import TrialRuns
from .run_folder import RunFolder
from .session import UNCHANGED, Changes, Request, RequestSession, ShownAnswer, read_request, session

if TYPE_CHECKING:
    from .interface import Interface
    from .steering import Steering

CONDUCT = f"{__package__}.conduct"
TO_LEAVE_S = 1.0
"""Of the budget: to end a trial run that is too long, and to say so."""


class DiagnosisRequest(Request):
    """Diagnose a program within limits."""

    FILE: ClassVar[str] = "request.json"
    limits: Limits
    planner: str = "rules"
    model: ModelChoice | None = None
    """What the planner asks, where it asks a language model."""
    plan: TrialPlan = NO_PLAN
    after: str = ""
    """Folder of the recorded run whose baseline is taken; empty: it is measured now."""

    def resumed(self, folder: RunFolder, interface: Interface, clock: BudgetClock, changes: Changes) -> DiagnosisEnding:
        """Go on; with more seconds, also where its verdict says what they would be for."""
        if changes.on:
            raise VgoError(f"{folder.path} is a diagnosis, which goes on where it began: leave --on out.")
        return go_on(folder, interface, clock, changes)


@dataclass(frozen=True)
class NewDiagnosis:
    """A diagnosis to begin."""

    request: DiagnosisRequest
    out: Path
    """Parent of run folders."""
    name: str
    """Short name of the program, for the folder."""
    clock: BudgetClock = field(default_factory=BudgetClock)
    """Counts the budget, from when the command began."""

    def opened(self) -> RunFolder:
        """Make its folder, with what is asked for in it."""
        folder = RunFolder.create(self.out, self.name)
        self.request.keep(folder)
        return folder


@dataclass(frozen=True)
class DiagnosisEnding:
    """How a diagnosis ended."""

    summary: dict[str, Any]
    text: str
    exit_code: int
    """0: a verdict; 1: the data say nothing, and the text says why."""

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """Its summary, and its words."""
        return ShownAnswer(self.summary, self.text, self.summary["headline"] if self.exit_code else "")


def diagnose(new: NewDiagnosis, interface: Interface) -> DiagnosisEnding:
    """Run the program for trial while libraries load, then conduct the diagnosis."""
    with session(interface, new.clock) as began:
        trial = _trial_runs(began, new.request)  # before there is a folder
        folder = new.opened()
        with began.kept_in(folder) as transcript:
            return conduct()(began, folder, new.request, transcript, trial.until_loaded(folder))


def go_on(
    folder: RunFolder,
    interface: Interface,
    clock: BudgetClock,
    changes: Changes = UNCHANGED,
    steering: Steering | None = None,
    is_held: bool = False,
) -> DiagnosisEnding:
    """Begin, or go on with, what a folder asks for; `is_held`: the caller holds it."""
    with session(interface, clock) as began, began.kept_in(folder, is_held) as transcript:
        asked, shown = read_request(folder.path, DiagnosisRequest), None
        clock.before_s = transcript.elapsed_s
        if transcript.events:
            interface.loading(" ".join(asked.subject.command), str(folder.path))
        else:
            shown = _trial_runs(began, asked).until_loaded(folder)
        return conduct()(began, folder, asked, transcript, shown, changes, steering)


def _trial_runs(began: RequestSession, request: DiagnosisRequest) -> TrialRuns:
    return TrialRuns(began, request.subject, began.clock.deadline(request.limits.budget_s, TO_LEAVE_S), CONDUCT)


def conduct() -> Callable[..., DiagnosisEnding]:
    """The part that needs heavy libraries."""
    function: Callable[..., DiagnosisEnding] = importlib.import_module(CONDUCT).conduct
    return function
