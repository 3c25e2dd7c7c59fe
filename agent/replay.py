"""Drive the graph again from recorded measurements; every pure step is executed and must give the same events."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..knowledge.loader import load as load_knowledge
from ..prompts.render import versions
from ..tools.case import Case
from ..tools.record import Record, ToolError
from ..tools.registry import TOOLS
from ..tools.subject import Limits, TrialPlan
from .acting import Acting
from .conduct import machine_of
from .diagnosis import DiagnosisRequest
from .experiment import ExperimentRequest
from .graph import Loop
from .live import call_tool, ended
from .model.chosen import ModelChoice
from .model.facts import ModelFacts, Retold
from .model.language_model import LanguageModel
from .planners import PLANNERS
from .planners.base import Choice, Planner, View
from .planners.llama import Llama
from .planning import Planning, planning
from .record import bodies
from .run_folder import ANSWER, RunFolder, experiment_in
from .schemas import schemas_digest
from .session import read_request
from .steering import Resteered
from .transcript import Approval, Decision, Event, RunEnd, RunStart, ToolEnd, Transcript, canonical, read
from .verify import Report, verify

RETOLD = "what the model wrote was read from the record"
SAME = 1e-9
"""Relative difference of two numbers that are the same."""
DECIDING = ("system.txt.j2", "decide.txt.j2", "think.txt.j2", "thought.txt.j2")
"""Prompts that a planner asks with; the others are for answers."""


class Diverged(Exception):
    """The replay left the recorded path; the message says where."""


@dataclass(frozen=True)
class RecordedPlanner:
    """The recorded decisions, for planners that cannot be run again."""

    decisions: Sequence[Decision]
    name: str

    def choose(self, view: View) -> Choice:
        """Read the next decision."""
        if view.decisions >= len(self.decisions):
            raise Diverged(f"decision {view.decisions + 1}: the record has only {len(self.decisions)}")
        decision = self.decisions[view.decisions]
        return Choice(decision.tool, decision.arguments, decision.why)


@dataclass(frozen=True)
class ReplayExecutor(Acting):
    """Serves measurements from the record; runs everything else."""

    events: Sequence[Event]
    start: RunStart
    folder: RunFolder
    knowledge: Knowledge
    plan: TrialPlan

    def act(self, decision: Decision, record: Record, limits: Limits) -> ToolEnd:
        """Serve a measurement by its call, or run a pure tool."""
        if decision.tool in TOOLS and TOOLS[decision.tool].measures:
            return self._served(decision)
        start = self.start
        machine = machine_of(start, self.folder)
        case = Case(decision.call_id, start.subject, limits, machine, self.knowledge, record, plan=start.plan)
        try:
            return ended(decision, call_tool(decision, case), {})
        except ToolError as error:
            return ToolEnd(call_id=decision.call_id, error=str(error))

    def _served(self, decision: Decision) -> ToolEnd:
        recorded = {d.call_id: d for d in bodies(self.events, Decision)}.get(decision.call_id)
        if recorded is None or (recorded.tool, recorded.arguments) != (decision.tool, decision.arguments):
            raise Diverged(f"{decision.call_id}: {decision.tool} with these arguments was not recorded")
        return next(end for end in bodies(self.events, ToolEnd) if end.call_id == decision.call_id)

    def elapsed_s(self, seq: int) -> float | None:
        """Seconds that were used at this event."""
        return getattr(self.events[seq].body, "elapsed_s", None) if seq < len(self.events) else None

    def asking(self) -> AbstractContextManager[None]:
        """Nobody is asked."""
        return nullcontext()

    def question(self, decision: Decision) -> dict[str, Any]:
        """Name the call that was asked about."""
        return {"call_id": decision.call_id}

    def observed(self, end: ToolEnd, record: Record) -> None:
        """Write nothing."""

    def approve(self, question: dict[str, Any]) -> dict[str, Any]:
        """Answer as was answered."""
        answers = {approval.call_id: approval for approval in bodies(self.events, Approval)}
        answer = answers.get(question["call_id"])
        if answer is None:
            raise Diverged(f"{question['call_id']}: no approval was recorded")
        return answer.model_dump(mode="json", include={"granted", "by", "reason", "standing"})


def replay(folder: RunFolder, without_model: bool = False) -> Report:
    """Verify, then drive the graph again and compare event by event.

    A language model is asked again where the same file is at hand; else, or without it, what it wrote is read from the
    record, and every decision is made of that again.
    """
    report = verify(folder)
    if not report.ok:
        return report
    if experiment_in(folder.path):
        return _made_again(folder, report)
    events = read(folder.transcript)
    start, end = bodies(events, RunStart), bodies(events, RunEnd)
    if not start or end[-1].status != "finished":
        return _differs(report, "the run did not reach its verdict; `vgo-agent resume` it first")
    knowledge = load_knowledge()
    again = start[0].model_copy(update={"knowledge": knowledge.digest, "schemas": schemas_digest()})
    served = ReplayExecutor(events, again, folder, again.plan.known(knowledge), again.plan)
    fresh = Transcript.in_memory()
    with _planning(start[0], events, folder, without_model) as (planner, note):
        try:
            Loop(again, planner, fresh, served, folder, Resteered(events)).run(served.approve)
        except (Diverged, VgoError) as error:
            difference = _first_difference(events, fresh.events) or str(error)
        else:
            difference = _first_difference(events[:-1], fresh.events)
    return replace(_differs(report, difference), note=note)


@contextmanager
def _planning(
    start: RunStart, events: Sequence[Event], folder: RunFolder, without_model: bool
) -> Iterator[tuple[Planner, str]]:
    """Run the planner again if it is deterministic here, else read its decisions; and say so of a model."""
    if start.planner in PLANNERS:
        yield PLANNERS[start.planner](), ""
        return
    if start.model is None:
        yield RecordedPlanner(bodies(events, Decision), start.planner), ""
        return
    said = [decision.said for decision in bodies(events, Decision) if decision.said]
    wish = _wish(start.model, folder)
    with ExitStack() as stack:
        live, note = None, RETOLD
        if not without_model and start.model.kind == "file":
            try:
                now = stack.enter_context(planning(start.planner, wish))
            except VgoError as error:
                reason = str(error).rstrip(".")
                note = f"{RETOLD}: {reason}"
            else:
                live, note = _same_file(start.model, now)
        told = start.model
        yield (
            Llama(Retold(said, live), wish, told.notation, told.context, told.characters_a_token),
            f"{note}{_other_prompts(told)}",
        )


def _wish(model: ModelFacts, folder: RunFolder) -> ModelChoice:
    """Ask as was asked: where the model was is in the request, how it was asked is in the transcript."""
    wish = read_request(folder.path, DiagnosisRequest).model or ModelChoice(spec=model.name)
    how = ("context", "threads", "temperature", "seed", "decision_timeout_s", "think")
    return wish.model_copy(update={name: getattr(model, name) for name in how})


def _same_file(then: ModelFacts, now: Planning) -> tuple[LanguageModel | None, str]:
    """Take the model if it is the same file, and say where it may write otherwise nevertheless."""
    assert isinstance(now.planner, Llama) and now.model is not None
    if then.sha256 != now.model.sha256:
        return None, f"{RETOLD}: {now.model.name} is another file now"
    other = then.other_build(now.model)
    but = f", but not with the same {other}, so that it may write something else" if other else ""
    return now.planner.model, f"the model was asked again{but}"


def _other_prompts(then: ModelFacts) -> str:
    """Name the prompts of decisions that this version words otherwise: it asks something else then."""
    now = versions("model")
    differing = [name for name in DECIDING if name in then.prompts and now.get(name) != then.prompts[name]]
    return f"; this version has other prompts: {', '.join(differing)}" if differing else ""


def _first_difference(recorded: Sequence[Event], fresh: Sequence[Event]) -> str:
    """Name the first event, and the first field in it, that differ; empty when none does."""
    for old, new in zip(recorded, fresh, strict=False):
        if old.hash != new.hash:
            where = _field(old.body.model_dump(mode="json"), new.body.model_dump(mode="json"), old.body.kind)
            return f"event {old.seq}: {where}"
    if len(recorded) != len(fresh):
        return f"event {min(len(recorded), len(fresh))}: recorded {len(recorded)} events, replayed {len(fresh)}"
    return ""


def _field(old: Any, new: Any, path: str) -> str:
    """Go down to the first value that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                return _field(old.get(key), new.get(key), f"{path}.{key}")
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            if left != right:
                return _field(left, right, f"{path}[{index}]")
    return f"{path} was {canonical(old).decode()[:80]}, is {canonical(new).decode()[:80]}"


def _differs(report: Report, difference: str) -> Report:
    return replace(report, ok=not difference, difference=difference)


def _made_again(folder: RunFolder, report: Report) -> Report:
    """Make the tables and the answer of an experiment again from its log, and compare them with its files."""
    try:
        made = read_request(folder.path, ExperimentRequest).remade(folder)
    except VgoError as error:
        return _differs(report, str(error))
    told = json.loads((folder.path / ANSWER).read_bytes())
    wrong = [name for name, content in made.tables.items() if (folder.path / name).read_bytes() != content]
    answer = json.loads(json.dumps(made.answer))
    wrong += [
        f"{ANSWER}: {name}" for name, value in answer.items() if name != "folder" and not _equal(told[name], value)
    ]
    note = f"the {made.rows} rows of the log gave {', '.join((*made.tables, ANSWER))} again"
    return replace(_differs(report, f"{wrong[0]} is not what the log gives" if wrong else ""), note=note)


def _equal(told: Any, made: Any) -> bool:
    """Compare two answers; numbers that another machine computes may differ in their last digits."""
    if isinstance(told, dict) and isinstance(made, dict):
        return told.keys() == made.keys() and all(_equal(told[key], made[key]) for key in made)
    if isinstance(told, list) and isinstance(made, list):
        return len(told) == len(made) and all(map(_equal, told, made))
    numbers = isinstance(told, int | float) and isinstance(made, int | float)
    return bool(told == made or (numbers and math.isclose(told, made, rel_tol=SAME)))
