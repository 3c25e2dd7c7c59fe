"""Read the events as the calls that tools look back at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..knowledge.loader import Knowledge
from ..tools.machine import Machine
from ..tools.record import Finished, Record, Store
from ..tools.subject import NO_PLAN, Limits, Subject, TrialPlan
from .transcript import Approval, Decision, Event, EventBody, LimitsChanged, RunStart, ToolEnd, ToolStart

B = TypeVar("B", bound=EventBody)


def bodies(events: Sequence[Event], kind: type[B]) -> list[B]:
    """All bodies of one kind, in order."""
    return [event.body for event in events if isinstance(event.body, kind)]


def limits_of(events: Sequence[Event]) -> Limits:
    """Limits in force: those of the start, or the last that the user set since."""
    changed = bodies(events, LimitsChanged)
    return changed[-1].limits if changed else bodies(events, RunStart)[0].limits


def record_of(events: Sequence[Event], store: Store) -> Record:
    """The finished calls; one that was denied counts as ended in an error."""
    decisions = {decision.call_id: decision for decision in bodies(events, Decision)}
    began = {start.call_id: start.elapsed_s for start in bodies(events, ToolStart)}
    given = [changed.elapsed_s or 0.0 for changed in bodies(events, LimitsChanged)]
    calls = []
    for event in events:
        match event.body:
            case ToolEnd() as end:
                calls.append(_finished(decisions[end.call_id], end, began.get(end.call_id)))
            case Approval(granted=False) as denial:
                refusal = ToolEnd(call_id=denial.call_id, error=f"not approved: {denial.reason}")
                calls.append(_finished(decisions[denial.call_id], refusal, standing=denial.standing))
    only_tries = any(start.plan.mitigation for start in bodies(events, RunStart))
    return Record(tuple(calls), store, max(given, default=0.0), only_tries)


def _finished(decision: Decision, end: ToolEnd, began_s: float | None = None, standing: str = "") -> Finished:
    said = (end.result, end.artefacts, end.error)
    return Finished(end.call_id, decision.tool, decision.arguments, *said, standing, began_s, end.elapsed_s)


@dataclass(frozen=True)
class FinishedRun:
    """Everything a reader needs; nothing here changes the run."""

    events: Sequence[Event]
    record: Record
    subject: Subject
    limits: Limits
    machine: Machine
    knowledge: Knowledge
    planner: str
    tip: str
    """Hash of the verdict event: the anchor printed in the report."""
    seconds: float
    """Wall time of the whole diagnosis, over all sessions."""
    agent_seconds: float
    """Of those, what was not the user's program."""
    run_dir: str
    plan: TrialPlan = NO_PLAN
