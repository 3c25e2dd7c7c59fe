"""One step of the paper alone, measure or profile: run it, and keep what was measured in a folder however it ends."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..knowledge.errors import VgoError
from ..knowledge.loader import NOTHING_KNOWN
from ..tools.amount import LONGEST
from ..tools.case import Case
from ..tools.ending_signals import answers
from ..tools.execution.bench import Bench
from ..tools.execution.capture import SAID
from ..tools.execution.expected import Deadline
from ..tools.execution.row_log import rows_in
from ..tools.execution.way import try_once
from ..tools.experiment.schedules import bare_runs
from ..tools.record import NO_FILES, Contents, Finished, Outcome, Record, ToolError
from ..tools.run_table import LAYERS, RUNS, artefacts, read_layers
from ..tools.statistics.ratio_test import FEWEST
from ..tools.statistics.shape.describe import describe
from ..tools.statistics.spread import summarise
from ..tools.steps.measure import MeasureTool
from ..tools.steps.profile import ProfileTool
from ..tools.subject import Limits
from ..tools.tool import Tool
from .clock import BudgetClock
from .experiment import ExperimentRequest, ExperimentRun, RemadeFiles, carry_on, opened
from .interface import Interface
from .place import way_of
from .record import FinishedRun
from .run_folder import RunFolder
from .transcript import Decision, ToolEnd

if TYPE_CHECKING:
    from .report.step import StepResult

CALL = "c001"
NO_TIME = 1e-9
"""Seconds: a step that has any runs ends at once."""
ANSWER_S = 1.0
"""Of the budget, for the answer after the last run."""
LEAST = 3 * FEWEST // 2
"""Runs of a profile that is to be short: a third of them may be left out of a ledger."""
ALONE: Mapping[str, Tool[Any, Any]] = {"measurement": MeasureTool(), "profile": ProfileTool()}
"""Tools that a command runs alone, by the kind of experiment that they are."""


class StepRequest(ExperimentRequest):
    """What a step was asked for."""

    kind: Literal["measurement", "profile"]
    limits: Limits
    arguments: dict[str, Any]
    why: str
    within_s: float | None = None
    """So many seconds by the clock the runs of a profile shall take, if that leaves enough of them."""

    @property
    def tool(self) -> Tool[Any, Any]:
        """That runs it."""
        return ALONE[self.kind]

    def fitted(self, run_s: float) -> Self:
        """Lessen the runs of a profile, each of which takes so many seconds, to what fits."""
        if not (self.within_s and run_s):
            return self
        asked, most = self.arguments["runs"], self.within_s / run_s
        runs = next((one for one in range(asked, LEAST, -1) if one + bare_runs(one, one) <= most), LEAST)
        return self.model_copy(update={"arguments": {**self.arguments, "runs": runs}})

    @property
    def probed(self) -> Sequence[str]:
        """Layers."""
        return self.limits.layers

    def record(self, result: Mapping[str, Any], files: Mapping[str, bytes]) -> Record:
        """What it gave, as a diagnosis of one call has it."""
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        store = Contents({digests[name]: content for name, content in files.items()})
        return Record((Finished(CALL, self.tool.name, self.arguments, result, digests),), store)

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it so many seconds beside those that its runs have taken."""
        spent_s = sum(row["wall_s"] for row in rows_in(log_in(folder)))
        limits = self.limits.model_copy(update={"budget_s": seconds})
        arguments = {**self.arguments, "max_seconds": min(spent_s + seconds, LONGEST)}
        return self.model_copy(update={"limits": limits, "arguments": arguments})

    def deadline(self, clock: BudgetClock) -> Deadline:
        """When the last run has to end."""
        return clock.deadline(self.limits.budget_s, ANSWER_S)

    def run(self, run: ExperimentRun) -> StepResult:
        """Run the tool on what the log has; Ctrl-C ends it early, and raises only where no run counts yet."""
        from .report.step import StepResult
        from .report.tables import runs_md, write_folder

        bench = run.place.bench
        bench.deadline = self.deadline(run.clock)
        case = Case(CALL, self.subject, self.limits, run.machine, NOTHING_KNOWN, Record((), NO_FILES), bench)
        outcome, stopped = _called(self, case, run)
        rows = [{name: row[name] for name in row if name != SAID} for row in rows_in(log_in(run.folder))]
        record = self.record(outcome.result.model_dump(mode="json"), outcome.artefacts)
        measured = FinishedRun((), record, self.subject, self.limits, run.machine, NOTHING_KNOWN, "", "", 0.0, 0.0, "")
        write_folder(record, runs_md(measured), run.folder.path)
        return StepResult(measured, outcome.result, rows, outcome.artefacts, stopped, run.folder.path)

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make the table again, and what rows alone tell."""
        from .report.tables import runs_csv

        rows, layers = rows_in(log_in(folder)), folder.path / LAYERS
        files = artefacts(rows, read_layers(layers.read_bytes()))
        answer: dict[str, Any] = {
            "failed": sum(row["ok"] == 0 for row in rows),
            "spent_s": sum(row["wall_s"] for row in rows),
        }
        if self.kind == "measurement":
            outcomes = np.array([row["outcome"] for row in rows if row["ok"] == 1])
            answer["outcome"] = summarise(outcomes[describe(outcomes).warm_up :]).model_dump(mode="json")
        return RemadeFiles(len(rows), {RUNS: runs_csv(self.record(answer, files))}, answer)


def log_in(folder: RunFolder) -> Path:
    """Where the rows are kept, run by run."""
    return folder.partial / f"{CALL}.jsonl"


def begin(request: StepRequest, out: Path, name: str, interface: Interface, clock: BudgetClock) -> StepResult:
    """Run a step in a new folder below `out`."""
    with opened(request, interface, clock) as (began, there):
        bench, subject = there.bench, request.subject
        interface.trying(" ".join(subject.command))
        if isinstance(bench, Bench):  # elsewhere, the look at each host has run it once
            bench.expect(try_once(bench.spawner, way_of(subject), subject, deadline=request.deadline(clock)))
            request = request.fitted(bench.expected.longest_s)
        folder = RunFolder.create(out, f"{request.tool.name}-{name}")
        return carry_on(request, request.run, folder, began, there)


def _called(request: StepRequest, case: Case, run: ExperimentRun) -> tuple[Outcome, BaseException | None]:
    arguments, name = request.arguments, request.tool.name
    decision = Decision(call_id=CALL, tool=name, arguments=arguments, why=request.why, origin="user", legal=())
    run.interface.decided(decision)
    stopped: BaseException | None = None
    with _refusing():
        try:
            outcome = _call(request.tool, arguments, case)
        except (KeyboardInterrupt, SystemExit) as stop:
            if not any(row["ok"] == 1 for row in rows_in(log_in(run.folder))):
                raise
            answers()  # no file has these runs yet
            stopped = stop
            outcome = _cut_short(request.tool, arguments, case, stop)
    run.interface.ended(decision, ToolEnd(call_id=CALL, result=outcome.result.model_dump(mode="json")))
    return outcome, stopped


def _cut_short(tool: Tool[Any, Any], arguments: Mapping[str, Any], case: Case, stop: BaseException) -> Outcome:
    try:
        return _call(tool, {**arguments, "max_seconds": NO_TIME}, case)
    except ToolError:  # of a profile there are bare runs only
        raise stop from None


def _call(tool: Tool[Any, Any], arguments: Mapping[str, Any], case: Case) -> Outcome:
    return tool.run(tool.arguments.model_validate(arguments), case)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """There is no planner that could mend an error."""
    try:
        yield
    except ToolError as error:
        raise VgoError(str(error)) from error
