"""One step of the paper alone, measure or profile: run it, and keep what was measured however it ends."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..tools.base import Outcome, Result, ToolError
from ..tools.case import NO_FILES, Case, Contents, Finished, Record
from ..tools.execution.bench import Progress
from ..tools.execution.spawn import Spawner
from ..tools.machine import Machine
from ..tools.mitigation.owned_folder import temporary_folder
from ..tools.row import Row
from ..tools.stop import answers
from ..tools.subject import Limits, Subject
from ..tools.tool import Tool
from .clock import BudgetClock
from .finished import FinishedRun
from .interface import Interface
from .place import place
from .session import tell_restored, try_once, way_of
from .transcript import Decision, ToolEnd

CALL = "c001"
NO_TIME = 1e-9
"""Seconds: a step that has any runs ends at once."""
ANSWER_S, SHARE = 1.0, 0.5
"""Of the budget, for the answer after the last run; no more than a share of it."""
NOTHING_KNOWN = Knowledge({}, {}, "")


@dataclass(frozen=True)
class StepRequest:
    """What to run."""

    subject: Subject
    limits: Limits
    tool: Tool[Any, Any]
    arguments: Mapping[str, Any]
    why: str
    clock: BudgetClock = field(default_factory=BudgetClock)
    """Counts the budget, from when the command began."""


@dataclass(frozen=True)
class StepResult:
    """What it gave."""

    request: StepRequest
    machine: Machine
    result: Result
    rows: Sequence[Row]
    files: Mapping[str, bytes]
    """The table, and what its columns mean, as a run folder has them."""
    stopped: BaseException | None
    """Ctrl-C, or the exit that a signal asked for; what was measured until then counts."""

    @property
    def run(self) -> FinishedRun:
        """The same as a diagnosis of one call, for what describes those."""
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}
        store = Contents({digests[name]: content for name, content in self.files.items()})
        call = Finished(
            CALL, self.request.tool.name, self.request.arguments, self.result.model_dump(mode="json"), digests
        )
        record = Record((call,), store)
        return FinishedRun(
            (), record, self.request.subject, self.request.limits, self.machine, NOTHING_KNOWN, "", "", 0.0, 0.0, ""
        )


@dataclass
class RowListener:
    """Hands each run on, and remembers that there are some."""

    interface: Interface
    rows: Sequence[Row] = field(default_factory=tuple)

    def __call__(self, progress: Progress) -> None:
        """Take the rows so far."""
        self.rows = progress.rows
        self.interface.progressed(progress)

    @property
    def count(self) -> bool:
        """Whether any run counts."""
        return any(row["ok"] == 1 for row in self.rows)


def step(request: StepRequest, interface: Interface) -> StepResult:
    """Run the step; Ctrl-C ends it early, and raises only where no run counts yet."""
    tell_restored(interface)
    subject, rows, budget_s = request.subject, RowListener(interface), request.limits.budget_s
    deadline = request.clock.deadline(budget_s, min(ANSWER_S, SHARE * budget_s))
    with Spawner() as spawner, temporary_folder() as folder:
        interface.trying(" ".join(subject.command))
        with place(subject, folder, spawner, interface, request.limits.layers, listener=rows) as there:
            machine = there.described(())
            if not subject.on:  # elsewhere, the look at each host has run it once
                there.bench.expect(try_once(spawner, way_of(subject), subject, deadline=deadline))
            there.bench.deadline = deadline
            case = Case(CALL, subject, request.limits, machine, NOTHING_KNOWN, Record((), NO_FILES), there.bench)
            outcome, stopped = _run(request, case, rows, interface)
        return StepResult(request, machine, outcome.result, rows.rows, outcome.artefacts, stopped)


def _run(
    request: StepRequest, case: Case, rows: RowListener, interface: Interface
) -> tuple[Outcome, BaseException | None]:
    decision = Decision(
        call_id=CALL,
        tool=request.tool.name,
        arguments=dict(request.arguments),
        why=request.why,
        origin="user",
        legal=(),
    )
    interface.decided(decision)
    stopped: BaseException | None = None
    with _refusing():
        try:
            outcome = _call(request, request.arguments, case)
        except (KeyboardInterrupt, SystemExit) as stop:
            if not rows.count:
                raise
            answers()  # no file has these runs yet
            stopped = stop
            outcome = _cut_short(request, case, stop)
    interface.ended(decision, ToolEnd(call_id=CALL, result=outcome.result.model_dump(mode="json")))
    return outcome, stopped


def _cut_short(request: StepRequest, case: Case, stop: BaseException) -> Outcome:
    try:
        return _call(request, {**request.arguments, "max_seconds": NO_TIME}, case)
    except ToolError:  # of a profile there are bare runs only
        raise stop from None


def _call(request: StepRequest, arguments: Mapping[str, Any], case: Case) -> Outcome:
    return request.tool.run(request.tool.arguments.model_validate(arguments), case)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """There is no planner that could mend an error."""
    try:
        yield
    except ToolError as error:
        raise VgoError(str(error)) from error
