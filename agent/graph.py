"""The plan-act loop: intake -> plan -> gate -> act -> observe -> (plan | conclude).

The list of events is the graph's state. Every node first looks whether the transcript on disk is already ahead of the
state: after a crash the nodes behind the last call that ended run again, and what they had written must not happen
twice.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langsmith import tracing_context

from ..tools.findings import Findings
from ..tools.record import Record, Store, ToolError
from ..tools.registry import TOOLS
from ..tools.steps.apply_by_hand import BY_HAND
from ..tools.subject import Limits
from ..tools.verdict import title
from .acting import Acting
from .consent import covered
from .legal import legal, was_legal
from .planners.base import Choice, Planner, Rules, view_of
from .record import bodies, limits_of, record_of
from .steering import USER, Steering
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


class GraphState(TypedDict):
    """JSON primitives only."""

    events: Annotated[list[dict[str, Any]], operator.add]


NO_EVENTS: GraphState = {"events": []}


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
        self.steering = steering or Steering()
        self.planner = planner
        self.transcript = transcript
        self.acting = acting
        self.store = store

    @property
    def limits(self) -> Limits:
        """Those in force."""
        return limits_of(self.transcript.events) if self.transcript.events else self.start.limits

    def run(self, approve: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Start, or go on where the transcript ends, until the verdict."""
        graph = self._graph().compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "run"}, "recursion_limit": 10 * MOST_DECISIONS}
        given: Any = None if self._taken_up(graph, config) else {"events": []}
        with tracing_context(enabled=False):
            while True:
                result = graph.invoke(given, config, durability="sync")
                if "__interrupt__" not in result:
                    return
                with self.acting.asking():
                    answer = approve(result["__interrupt__"][0].value)
                given = Command(resume=answer)

    def _taken_up(self, graph: Any, config: Any) -> bool:
        """Take up a run behind the last call or verdict that ended: what stands after that is found by its nodes."""
        events = self.transcript.events
        ended = next((one for one in reversed(events) if isinstance(one.body, ToolEnd | VerdictGiven)), None)
        if ended is None:
            return False
        whole = [event.model_dump(mode="json") for event in events[: ended.seq + 1]]
        node = self.act if isinstance(ended.body, ToolEnd) else self.conclude
        graph.update_state(config, {"events": whole}, as_node=node.__name__)
        return True

    def _graph(self) -> StateGraph[GraphState, None, GraphState, GraphState]:
        graph = StateGraph(GraphState)
        for node in (self.intake, self.plan, self.gate, self.act, self.observe, self.conclude):
            graph.add_node(node.__name__, node)
        graph.add_edge(START, "intake")
        for before, after in (("intake", "plan"), ("plan", "gate"), ("gate", "act"), ("act", "observe")):
            graph.add_edge(before, after)
        graph.add_conditional_edges("observe", self.route, ["plan", "conclude"])
        graph.add_conditional_edges("conclude", self.after, {"plan": "plan", "end": END})
        return graph

    def begin_with(self, measured: ToolEnd) -> None:
        """Take the baseline from an earlier run: write it where the first call would have, and go on from there."""
        makes: tuple[Callable[[], EventBody], ...] = (
            lambda: self.start,
            self._decide,
            lambda: self._begun(measured.call_id),
            lambda: self._timed(measured),
        )
        for make in makes[len(self.transcript.events) :]:
            self.transcript.append(make())

    def intake(self, state: GraphState) -> GraphState:
        """Write down what is diagnosed."""
        return self._emit(state, lambda: self.start)

    def plan(self, state: GraphState) -> GraphState:
        """Let the user or the planner choose; after repeated errors, the rule policy."""
        changed = self._changed(state)
        both: GraphState = {"events": state["events"] + changed["events"]}
        return {"events": changed["events"] + self._emit(both, self._decide)["events"]}

    def gate(self, state: GraphState) -> GraphState:
        """Ask before anything beyond process scope, and before what changes a promise of the program.

        The interrupt stands alone, since a resume re-runs this node.
        """
        decision = self._decision(state)
        scope = self.acting.scope(decision)
        if not scope or not self._is_legal(decision):
            return {"events": []}
        if ahead := self._ahead(state):
            return {"events": [ahead[0].model_dump(mode="json")]}
        answer = self._answered(decision, scope) or interrupt(self.acting.question(decision))
        return self._emit(state, lambda: Approval(call_id=decision.call_id, scope=scope, **answer))

    def act(self, state: GraphState) -> GraphState:
        """Run the call; one that has ended is not run again, one that was cut off goes on."""
        decision = self._decision(state)
        approvals = [a for a in bodies(self.transcript.events, Approval) if a.call_id == decision.call_id]
        if approvals and not approvals[-1].granted:
            return {"events": []}
        started = self._emit(state, lambda: self._begun(decision.call_id))
        both: GraphState = {"events": state["events"] + started["events"]}
        ended = self._emit(both, lambda: self._timed(self.acting.act(decision, self._record(), self.limits)))
        return {"events": started["events"] + ended["events"]}

    def observe(self, state: GraphState) -> GraphState:
        """Bring the run table up to date."""
        ends = bodies(self.transcript.events, ToolEnd)
        if ends:
            self.acting.observed(ends[-1], self._record())
        return {"events": []}

    def route(self, state: GraphState) -> Literal["plan", "conclude"]:
        """Go on until a call of conclude has given its result."""
        verdicts = len(bodies(self.transcript.events, VerdictGiven))
        return "conclude" if len(Findings(self._record()).calls("conclude")) > verdicts else "plan"

    def after(self, state: GraphState) -> Literal["plan", "end"]:
        """End with the verdict, unless more time was given after it."""
        decisions = len(bodies(self.transcript.events, Decision))
        return "plan" if self._ahead(state) or self.steering.goes_on(decisions) else "end"

    def conclude(self, state: GraphState) -> GraphState:
        """Give the verdict with the events it rests on."""
        return self._emit(state, self._verdict)

    def _changed(self, state: GraphState) -> GraphState:
        """Write down other limits, where the user has set some since the last step."""
        if ahead := self._ahead(state):
            return self._emit(state, lambda: ahead[0].body) if isinstance(ahead[0].body, LimitsChanged) else NO_EVENTS
        now = self.limits
        limits = self.steering.limits(len(bodies(self.transcript.events, Decision)), now)
        if limits == now:
            return NO_EVENTS
        return self._emit(state, lambda: LimitsChanged(limits=limits, elapsed_s=self._elapsed_s()))

    def _begun(self, call_id: str) -> ToolStart:
        return ToolStart(call_id=call_id, elapsed_s=self._elapsed_s())

    def _timed(self, end: ToolEnd) -> ToolEnd:
        return end.model_copy(update={"elapsed_s": self._elapsed_s()})

    def _elapsed_s(self) -> float | None:
        """Seconds of the budget used, for the event that is made next."""
        return self.acting.elapsed_s(len(self.transcript.events))

    def _decide(self) -> Decision:
        record, events = self._record(), self.transcript.events
        decisions = len(bodies(events, Decision))
        view = view_of(record, self.limits, decisions, self.start.plan)
        planner = self.planner if not self._failing(record) else FALLBACK
        wish = self.steering.wish(view) if decisions < MOST_DECISIONS else Choice("conclude", {}, "enough decisions")
        choice = wish or planner.choose(view)
        return Decision(
            call_id=f"c{decisions + 1:03d}",
            tool=choice.tool,
            title=TOOLS[choice.tool].title if choice.tool in TOOLS else "",
            arguments=dict(choice.arguments),
            why=choice.why,
            origin=self._origin(choice, planner, of_user=wish is not None and decisions < MOST_DECISIONS),
            legal=tuple(view.legal.tools),
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
        tried = {call.mitigation for call in last if call.tool == "apply_mitigation"}
        places = range(first, len(record.calls))
        return len(tried) < MOST_ERRORS or not all(was_legal(record, n, self.limits, self.start.plan) for n in places)

    def _is_legal(self, decision: Decision) -> bool:
        """Nobody is asked about a call that `act` will refuse."""
        try:
            legal(self._record(), self.limits, self.start.plan).check(decision.tool, decision.arguments)
        except ToolError:
            return False
        return True

    def _answered(self, decision: Decision, scope: str) -> dict[str, Any] | None:
        """Give the answer that holds already: of the user, else of --allow; None where the user is to be asked."""
        decided = {d.call_id: d for d in bodies(self.transcript.events, Decision)}
        promise = bool(self.acting.promise(decision))
        said = covered(bodies(self.transcript.events, Approval), decided, decision, scope, own=promise)
        if said and not said["granted"]:
            return said
        if scope == BY_HAND:  # only a person knows that it is done
            return None
        allow, key = self.limits.allow, str(decision.arguments.get("mitigation"))
        within = allow == "system" or (allow == "process" and scope == "process")
        if within and (not promise or key in self.limits.accept):
            return {"granted": True, "by": "policy", "reason": f"--accept {key}" if promise else f"--allow {allow}"}
        return said

    def _verdict(self) -> VerdictGiven:
        verdict = Findings(self._record()).verdict
        ends = {e.body.call_id: e.seq for e in self.transcript.events if isinstance(e.body, ToolEnd)}
        return VerdictGiven(verdict=title(verdict), evidence=tuple(ends[call] for call in verdict.evidence))

    def _decision(self, state: GraphState) -> Decision:
        return bodies(self.transcript.events[: len(state["events"])], Decision)[-1]

    def _record(self) -> Record:
        return record_of(self.transcript.events, self.store)

    def _ahead(self, state: GraphState) -> list[Event]:
        """Events that this node wrote before it was cut off."""
        return self.transcript.events[len(state["events"]) :]

    def _emit(self, state: GraphState, make: Callable[[], EventBody]) -> GraphState:
        """Give the next event: the one already on disk, or a new one."""
        ahead = self._ahead(state)
        event = ahead[0] if ahead else self.transcript.append(make())
        return {"events": [event.model_dump(mode="json")]}
