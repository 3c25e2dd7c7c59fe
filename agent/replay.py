"""Drive the graph again from recorded measurements; every pure step is executed and must give the same events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..knowledge.errors import VgoError
from ..knowledge.loader import Knowledge
from ..knowledge.loader import load as load_knowledge
from ..tools.base import ToolError
from ..tools.case import Case, Record
from ..tools.registry import TOOLS
from .conduct import machine_of
from .graph import Loop
from .live import call_tool, ended, mitigation_scope
from .planners import PLANNERS
from .planners.base import Choice, Planner, View
from .record import bodies
from .run_folder import RunFolder
from .schemas import schemas_digest
from .transcript import Approval, Decision, Event, RunEnd, RunStart, ToolEnd, Transcript, canonical, read
from .verify import Report, verify


class Diverged(Exception):
    """The replay left the recorded path; the message says where."""


@dataclass(frozen=True)
class Recorded:
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
class Served:
    """Serves measurements from the record; runs everything else."""

    events: Sequence[Event]
    start: RunStart
    folder: RunFolder
    knowledge: Knowledge

    def act(self, decision: Decision, record: Record) -> ToolEnd:
        """Serve a measurement by its call, or run a pure tool."""
        if decision.tool in TOOLS and TOOLS[decision.tool].measures:
            return self._served(decision)
        start = self.start
        machine = machine_of(start, self.folder)
        case = Case(decision.call_id, start.subject, start.limits, machine, self.knowledge, record, plan=start.plan)
        try:
            return ended(decision, call_tool(decision, case), {})
        except ToolError as error:
            return ToolEnd(call_id=decision.call_id, error=str(error))

    def _served(self, decision: Decision) -> ToolEnd:
        recorded = {d.call_id: d for d in bodies(self.events, Decision)}.get(decision.call_id)
        if recorded is None or (recorded.tool, recorded.arguments) != (decision.tool, decision.arguments):
            raise Diverged(f"{decision.call_id}: {decision.tool} with these arguments was not recorded")
        return next(end for end in bodies(self.events, ToolEnd) if end.call_id == decision.call_id)

    def scope(self, decision: Decision) -> str:
        """Scope of the mitigation that a decision would apply."""
        return mitigation_scope(decision, self.knowledge, self.start.plan)

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
        return answer.model_dump(mode="json", include={"granted", "by", "reason"})


def replay(folder: RunFolder) -> Report:
    """Verify, then drive the graph again and compare event by event."""
    report = verify(folder)
    if not report.ok:
        return report
    events = read(folder.transcript)
    start, end = bodies(events, RunStart), bodies(events, RunEnd)
    if not start or end[-1].status != "finished":
        return _differs(report, "the run did not reach its verdict; `vgo-agent resume` it first")
    knowledge = load_knowledge()
    again = start[0].model_copy(update={"knowledge": knowledge.digest, "schemas": schemas_digest()})
    served = Served(events, again, folder, again.plan.known(knowledge))
    fresh = Transcript.in_memory()
    try:
        Loop(again, _planner(start[0], events), fresh, served, folder).run(None, served.approve)
    except (Diverged, VgoError) as error:
        return _differs(report, _first_difference(events, fresh.events) or str(error))
    return _differs(report, _first_difference(events[:-1], fresh.events))


def _planner(start: RunStart, events: Sequence[Event]) -> Planner:
    """Run the planner again if it is deterministic here, else read its decisions."""
    if start.planner in PLANNERS:
        return PLANNERS[start.planner]()
    return Recorded(bodies(events, Decision), start.planner)


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
    return Report(not difference, report.events, report.artefacts, report.outputs, report.tip, difference)
