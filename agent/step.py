"""One step of the paper alone, measure or profile: run it, and keep what was measured in a folder however it ends."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..knowledge.shape import Frozen
from ..tools.base import Outcome, Result, ToolError
from ..tools.case import NO_FILES, Case, Contents, Finished, Record
from ..tools.execution.bench import Progress
from ..tools.execution.deadline import Deadline
from ..tools.execution.row_log import rows_in
from ..tools.execution.spawn import Spawner
from ..tools.machine import Machine
from ..tools.row import Row
from ..tools.steps.measure import MEASURE
from ..tools.steps.profile import PROFILE
from ..tools.stop import answers
from ..tools.subject import Limits, Subject
from ..tools.tool import Tool
from . import experiment_folder
from .clock import BudgetClock
from .experiment_folder import ExperimentKind
from .finished import FinishedRun
from .interface import Interface
from .place import ProgramBench, place
from .run_folder import RunFolder, write
from .session import resumable, tell_restored, try_once, way_of
from .transcript import Decision, ToolEnd

CALL = "c001"
NO_TIME = 1e-9
"""Seconds: a step that has any runs ends at once."""
ANSWER_S, SHARE = 1.0, 0.5
"""Of the budget, for the answer after the last run; no more than a share of it."""
NOTHING_KNOWN = Knowledge({}, {}, "")


ALONE: Mapping[str, Tool[Any, Any]] = {tool.name: tool for tool in (MEASURE, PROFILE)}
"""Tools that a command runs alone."""


class StepRequest(Frozen):
    """What a step was asked for: all that it takes to go on with it."""

    subject: Subject
    limits: Limits
    tool: str
    arguments: dict[str, Any]
    why: str

    @property
    def kind(self) -> ExperimentKind:
        """Of its folder."""
        return experiment_folder.MEASUREMENT if self.tool == MEASURE.name else experiment_folder.PROFILE

    def record(self, result: Mapping[str, Any], files: Mapping[str, bytes]) -> Record:
        """What it gave, as a diagnosis of one call has it."""
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        store = Contents({digests[name]: content for name, content in files.items()})
        return Record((Finished(CALL, self.tool, self.arguments, result, digests),), store)


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
    folder: Path

    @property
    def run(self) -> FinishedRun:
        """The same as a diagnosis of one call, for what describes those."""
        record = self.request.record(self.result.model_dump(mode="json"), self.files)
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


def begin(request: StepRequest, out: Path, name: str, interface: Interface, clock: BudgetClock) -> StepResult:
    """Run a step in a new folder below `out`; Ctrl-C ends it early, and raises only where no run counts yet."""
    tell_restored(interface)
    with Spawner() as spawner:
        deadline, subject = _deadline(request, clock), request.subject
        interface.trying(" ".join(subject.command))
        with _place(request, spawner, interface) as (there, rows):
            if not subject.on:  # elsewhere, the look at each host has run it once
                there.bench.expect(try_once(spawner, way_of(subject), subject, deadline=deadline))
            folder = RunFolder.create(out, f"{request.tool}-{name}")
            page = yaml.safe_dump(request.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
            write(folder.path / request.kind.asked, page.encode())
            folder.note_time("begun")
            return _carry_on(request, folder, there, rows, interface, deadline)


def go_on(
    path: Path, interface: Interface, clock: BudgetClock, on: str = "", more_s: float | None = None
) -> StepResult:
    """Go on with a step that was cut off, with what is left of its budget or for more_s seconds; one that had ended
    is answered again.
    """
    folder, request = RunFolder(path), read(path)
    if on and not request.subject.on:
        raise VgoError(f"{path} was made on this machine: go on without --on, or begin a new one.")
    if on:
        request = request.model_copy(update={"subject": request.subject.model_copy(update={"on": on})})
    if more_s:
        spent_s = sum(row["wall_s"] for row in rows_in(folder.partial / f"{CALL}.jsonl"))
        limits = request.limits.model_copy(update={"budget_s": more_s})
        arguments = {**request.arguments, "max_seconds": spent_s + more_s}
        request = request.model_copy(update={"limits": limits, "arguments": arguments})
    tell_restored(interface)
    with Spawner() as spawner, _place(request, spawner, interface) as (there, rows):
        return _carry_on(request, folder, there, rows, interface, _deadline(request, clock))


def read(folder: Path) -> StepRequest:
    """Read what a step was asked for."""
    kind = experiment_folder.experiment_in(folder)
    assert kind
    try:
        return StepRequest.model_validate(yaml.safe_load((folder / kind.asked).read_text(encoding="utf-8")))
    except OSError as error:
        raise VgoError(f"{folder / kind.asked} cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise VgoError(f"{folder / kind.asked} is damaged, so it cannot go on: begin a new one.") from error


def _deadline(request: StepRequest, clock: BudgetClock) -> Deadline:
    budget_s = request.limits.budget_s
    return clock.deadline(budget_s, min(ANSWER_S, SHARE * budget_s))


@contextlib.contextmanager
def _place(request: StepRequest, spawner: Spawner, interface: Interface) -> Iterator[tuple[ProgramBench, RowListener]]:
    rows = RowListener(interface)
    with place(request.subject, Path(), spawner, interface, request.limits.layers, listener=rows) as there:
        yield there, rows


def _carry_on(
    request: StepRequest,
    folder: RunFolder,
    there: ProgramBench,
    rows: RowListener,
    interface: Interface,
    deadline: Deadline,
) -> StepResult:
    with resumable(folder):
        there.keep_in(folder)
        there.bench.deadline = deadline
        machine = there.described(())
        case = Case(CALL, request.subject, request.limits, machine, NOTHING_KNOWN, Record((), NO_FILES), there.bench)
        outcome, stopped = _run(request, case, rows, interface)
        kept = rows_in(folder.partial / f"{CALL}.jsonl")
        return StepResult(request, machine, outcome.result, kept, outcome.artefacts, stopped, folder.path)


def _run(
    request: StepRequest, case: Case, rows: RowListener, interface: Interface
) -> tuple[Outcome, BaseException | None]:
    decision = Decision(
        call_id=CALL, tool=request.tool, arguments=dict(request.arguments), why=request.why, origin="user", legal=()
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
    return ALONE[request.tool].run(ALONE[request.tool].arguments.model_validate(arguments), case)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """There is no planner that could mend an error."""
    try:
        yield
    except ToolError as error:
        raise VgoError(str(error)) from error
