"""The plan-act loop: intake -> plan -> gate -> act -> observe -> (plan | conclude).

The list of events is the graph's state. Every node first looks whether the transcript on disk is already ahead of the
state: after a crash LangGraph re-runs the node that was cut off, and what that node had written must not happen twice.
"""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langsmith import tracing_context

from ..knowledge.errors import VgoError
from ..tools.apply_by_hand import BY_HAND
from ..tools.base import ToolError
from ..tools.case import Record, Store
from ..tools.conclude import ConcludeResult
from ..tools.subject import Limits
from .legal import legal, was_legal
from .planners.base import Choice, Planner, View
from .planners.rules import Rules
from .record import bodies, limits_of, record_of
from .steering import USER, Steering, Unsteered
from .transcript import (
    Approval,
    Decision,
    Event,
    EventBody,
    LimitsChanged,
    RunStart,
    ToolEnd,
    ToolStart,
    Transcript,
    VerdictGiven,
)

MOST_DECISIONS = 120
FALLBACK: Planner = Rules("fallback")
MOST_ERRORS = 3
"""After so many errors of its own in a row the rule policy takes the next decision."""


class State(TypedDict):
    """JSON primitives only."""

    events: Annotated[list[dict[str, Any]], operator.add]


NO_EVENTS: State = {"events": []}


class Acting(Protocol):
    """What differs between a live diagnosis and a replay."""

    def act(self, decision: Decision, record: Record, limits: Limits) -> ToolEnd:
        """Run a tool within these limits, or serve it from a record."""

    def scope(self, decision: Decision) -> str:
        """Scope of the mitigation that a decision would apply; empty for anything else."""

    def question(self, decision: Decision) -> dict[str, Any]:
        """What the user is shown before a change beyond process scope."""

    def observed(self, end: ToolEnd, record: Record) -> None:
        """Bring the files made from the record up to date."""


class Loop:
    """One diagnosis as a graph over a transcript."""

    def __init__(
        self,
        start: RunStart,
        planner: Planner,
        transcript: Transcript,
        acting: Acting,
        store: Store,
        steering: Steering | None = None,
    ) -> None:
        """Tie the parts together; nothing runs yet."""
        self.start = start
        self.steering: Steering = steering or Unsteered()
        self.planner = planner
        self.transcript = transcript
        self.acting = acting
        self.store = store

    @property
    def limits(self) -> Limits:
        """Those in force."""
        return limits_of(self.transcript.events) if self.transcript.events else self.start.limits

    def run(self, checkpoint: Path | None, approve: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Start, or go on where a checkpoint left off, until the verdict; without a file, keep none."""
        if checkpoint is None:
            self._run(InMemorySaver(), approve)
            return
        try:
            with SqliteSaver.from_conn_string(str(checkpoint)) as saver:
                self._run(saver, approve)
        except sqlite3.OperationalError as error:
            raise VgoError(
                f"Cannot write {checkpoint} ({error}); free space there, then `vgo-agent resume`."
            ) from error

    def _run(self, saver: BaseCheckpointSaver[Any], approve: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        graph = self._graph().compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "run"}, "recursion_limit": 10 * MOST_DECISIONS}
        begun = bool(graph.get_state(config).values)
        given: Any = None if begun else {"events": []}
        with tracing_context(enabled=False):
            while True:
                result = graph.invoke(given, config, durability="sync")
                if "__interrupt__" not in result:
                    return
                given = Command(resume=approve(result["__interrupt__"][0].value))

    def _graph(self) -> StateGraph[State, None, State, State]:
        graph = StateGraph(State)
        for node in (self.intake, self.plan, self.gate, self.act, self.observe, self.conclude):
            graph.add_node(node.__name__, node)
        graph.add_edge(START, "intake")
        for before, after in (("intake", "plan"), ("plan", "gate"), ("gate", "act"), ("act", "observe")):
            graph.add_edge(before, after)
        graph.add_conditional_edges("observe", self.route, ["plan", "conclude"])
        graph.add_edge("conclude", END)
        return graph

    def begin_with(self, measured: ToolEnd) -> None:
        """Take the baseline from an earlier run: write it where the first call would have, and go on from there."""
        makes: tuple[Callable[[], EventBody], ...] = (
            lambda: self.start,
            self._decide,
            lambda: ToolStart(call_id=measured.call_id),
            lambda: measured,
        )
        for make in makes[len(self.transcript.events) :]:
            self.transcript.append(make())

    def intake(self, state: State) -> State:
        """Write down what is diagnosed."""
        return self._emit(state, lambda: self.start)

    def plan(self, state: State) -> State:
        """Let the user or the planner choose; after repeated errors, the rule policy."""
        changed = self._changed(state)
        both: State = {"events": state["events"] + changed["events"]}
        return {"events": changed["events"] + self._emit(both, self._decide)["events"]}

    def gate(self, state: State) -> State:
        """Ask before anything beyond process scope; the interrupt stands alone, since a resume re-runs this node."""
        decision = self._decision()
        scope = self.acting.scope(decision)
        if not scope or not self._is_legal(decision):
            return {"events": []}
        if ahead := self._ahead(state):
            return {"events": [ahead[0].model_dump(mode="json")]}
        allowed = scope == "process" or self.limits.allow == "system" or self._approved_before(decision)
        if allowed and scope != BY_HAND:
            answer = {"granted": True, "by": "policy", "reason": f"--allow {self.limits.allow}"}
        else:
            answer = interrupt(self.acting.question(decision))
        return self._emit(state, lambda: Approval(call_id=decision.call_id, scope=scope, **answer))

    def act(self, state: State) -> State:
        """Run the call; one that has ended is not run again, one that was cut off goes on."""
        decision = self._decision()
        approvals = [a for a in bodies(self.transcript.events, Approval) if a.call_id == decision.call_id]
        if approvals and not approvals[-1].granted:
            return {"events": []}
        started = self._emit(state, lambda: ToolStart(call_id=decision.call_id))
        both: State = {"events": state["events"] + started["events"]}
        ended = self._emit(both, lambda: self.acting.act(decision, self._record(), self.limits))
        return {"events": started["events"] + ended["events"]}

    def observe(self, state: State) -> State:
        """Bring the run table up to date."""
        ends = bodies(self.transcript.events, ToolEnd)
        if ends:
            self.acting.observed(ends[-1], self._record())
        return {"events": []}

    def route(self, state: State) -> Literal["plan", "conclude"]:
        """Go on until a call of conclude has given its result."""
        return "conclude" if self._record().succeeded("conclude") else "plan"

    def conclude(self, state: State) -> State:
        """Give the verdict with the events it rests on."""
        return self._emit(state, self._verdict)

    def _changed(self, state: State) -> State:
        """Write down other limits, where the user has set some since the last step."""
        if ahead := self._ahead(state):
            return self._emit(state, lambda: ahead[0].body) if isinstance(ahead[0].body, LimitsChanged) else NO_EVENTS
        now = self.limits
        limits = self.steering.limits(len(bodies(self.transcript.events, Decision)), now)
        return NO_EVENTS if limits == now else self._emit(state, lambda: LimitsChanged(limits=limits))

    def _decide(self) -> Decision:
        record, events = self._record(), self.transcript.events
        allowed = legal(record, self.limits, self.start.plan)
        decisions = len(bodies(events, Decision))
        view = View(record, self.limits, allowed, decisions, self.start.plan)
        planner = self.planner if not self._failing(record) else FALLBACK
        wish = self.steering.wish(view) if decisions < MOST_DECISIONS else Choice("conclude", {}, "enough decisions")
        choice = wish or planner.choose(view)
        return Decision(
            call_id=f"c{decisions + 1:03d}",
            tool=choice.tool,
            arguments=dict(choice.arguments),
            why=choice.why,
            origin=self._origin(choice, planner, of_user=wish is not None and decisions < MOST_DECISIONS),
            legal=tuple(allowed.tools),
            said=choice.said,
        )

    def _origin(self, choice: Choice, planner: Planner, of_user: bool) -> str:
        if of_user:
            return USER
        return FALLBACK.name if choice.said and choice.said.passed_over else planner.name

    def _failing(self, record: Record) -> bool:
        """Whether the planner makes nothing but mistakes; mitigations that the machine refuses are none of its."""
        first = max(len(record.calls) - MOST_ERRORS, 0)
        last = record.calls[first:]
        if len(last) < MOST_ERRORS or any(call.result is not None for call in last):
            return False
        tried = {call.arguments.get("mitigation") for call in last if call.tool == "apply_mitigation"}
        places = range(first, len(record.calls))
        return len(tried) < MOST_ERRORS or not all(was_legal(record, n, self.limits, self.start.plan) for n in places)

    def _is_legal(self, decision: Decision) -> bool:
        """Nobody is asked about a call that `act` will refuse."""
        try:
            legal(self._record(), self.limits, self.start.plan).check(decision.tool, decision.arguments)
        except ToolError:
            return False
        return True

    def _approved_before(self, decision: Decision) -> bool:
        """A second batch repeats what was approved for the first."""
        decided = {d.call_id: d for d in bodies(self.transcript.events, Decision)}
        wanted = decision.arguments.get("mitigation")
        granted = [a for a in bodies(self.transcript.events, Approval) if a.granted]
        return any(decided[approval.call_id].arguments.get("mitigation") == wanted for approval in granted)

    def _verdict(self) -> VerdictGiven:
        result = self._record().succeeded("conclude")[-1].read(ConcludeResult)
        ends = {e.body.call_id: e.seq for e in self.transcript.events if isinstance(e.body, ToolEnd)}
        return VerdictGiven(verdict=result.verdict, evidence=tuple(ends[call] for call in result.evidence))

    def _decision(self) -> Decision:
        return bodies(self.transcript.events, Decision)[-1]

    def _record(self) -> Record:
        return record_of(self.transcript.events, self.store)

    def _ahead(self, state: State) -> list[Event]:
        """Events that this node wrote before it was cut off."""
        return self.transcript.events[len(state["events"]) :]

    def _emit(self, state: State, make: Callable[[], EventBody]) -> State:
        """Give the next event: the one already on disk, or a new one."""
        ahead = self._ahead(state)
        event = ahead[0] if ahead else self.transcript.append(make())
        return {"events": [event.model_dump(mode="json")]}
