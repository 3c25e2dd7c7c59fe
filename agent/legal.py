"""What may be done next: tools whose preconditions hold, with the values their arguments may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..tools.base import ToolError
from ..tools.case import Record
from ..tools.compare import CompareResult
from ..tools.look_up import Candidate, LookUpResult
from ..tools.measure import MeasureResult
from ..tools.plan import NO_PLAN, Plan
from ..tools.profile import ProfileResult
from ..tools.rank_factors import RankResult
from ..tools.subject import Limits
from .legal_plan import planned, uncompared

LEAST_PAIRS = 10
"""A batch for which the budget leaves fewer pairs is not offered."""

MOST_ATTEMPTS = 2
"""At a second look; layers that no run survives would fail again."""


@dataclass(frozen=True)
class Legal:
    """Tool name to the closed choices of its arguments; arguments not named are free within their schema."""

    tools: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    batches: frozenset[tuple[str, int]] = frozenset()
    """(mitigation, batch) that may be applied."""

    def check(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Raise ToolError when a call is not legal now."""
        if tool not in self.tools:
            raise ToolError(f"{tool} is not legal now; legal are {', '.join(self.tools)}.")
        for name, values in self.tools[tool].items():
            if arguments.get(name) not in values:
                raise ToolError(f"{tool} takes for {name} one of {', '.join(map(str, values))}.")
        pair = (arguments.get("mitigation"), arguments.get("batch", 1))
        if tool == "apply_mitigation" and pair not in self.batches:
            raise ToolError(
                f"Batch {pair[1]} of {pair[0]} is not legal now: batch 2 confirms a batch 1 that looked steadier."
            )


def legal(record: Record, limits: Limits, plan: Plan = NO_PLAN) -> Legal:
    """Work out what may be done next from the finished calls."""
    if plan.mitigation:
        return _of_plan(record, limits, plan)
    tools: dict[str, Mapping[str, tuple[Any, ...]]] = {"conclude": {}}
    tools |= _steps(record, limits)
    if factors := _not_looked_up(record):
        tools["look_up"] = {"factor": factors}
    batches = _batches(record, limits)
    if batches:
        tools["apply_mitigation"] = {"mitigation": tuple(dict.fromkeys(key for key, _ in batches))}
    if plan.surface and _worth_predicting(record):
        tools["predict_surface"] = {}
    if calls := uncompared(record):
        tools["compare"] = {"call": calls}
    return Legal(tools, frozenset(batches))


def was_legal(record: Record, number: int, limits: Limits, plan: Plan) -> bool:
    """Judge a call by those that had ended before it."""
    call = record.calls[number]
    try:
        legal(Record(record.calls[:number], record.store), limits, plan).check(call.tool, call.arguments)
    except ToolError:
        return False
    return True


def _of_plan(record: Record, limits: Limits, plan: Plan) -> Legal:
    tools = planned(record, limits, plan)
    chosen = tools.get("apply_mitigation", {})
    return Legal(tools, frozenset((plan.mitigation, batch) for batch in chosen.get("batch", ())))


def _steps(record: Record, limits: Limits) -> dict[str, Mapping[str, tuple[Any, ...]]]:
    """The steps of the paper in their order: once each, and again from the profile on where a second look is due."""
    if not record.succeeded("measure"):
        return {"measure": {}}
    if not record.succeeded("profile"):
        return {"profile": {}} if _worth_profiling(record, limits) else {}
    last = record.latest("profile")
    since = record.calls[record.calls.index(last) + 1 :]
    called = {call.tool for call in since if call.result is not None}
    if not last.read(ProfileResult).standing:
        return _second_look(record, limits)
    if "label" not in called:
        return {"label": {}}
    left = [tool for tool in ("fit_tree", "rank_factors") if tool not in called]
    return dict.fromkeys(left, {}) | ({} if "rank_factors" in left else _second_look(record, limits))


def _second_look(record: Record, limits: Limits) -> dict[str, Mapping[str, tuple[Any, ...]]]:
    """Offer the heavy layers that wait, once, when the light ones have shown nothing and there is budget left."""
    last = record.latest("profile")
    waiting = last.read(ProfileResult).later
    attempts = sum(call.tool == "profile" for call in record.calls[record.calls.index(last) + 1 :])
    if not waiting or attempts >= MOST_ATTEMPTS or visible_factors(record) or record.spent_s >= limits.budget_s:
        return {}
    return {"profile": {"layers": (list(waiting),)}}


def _not_looked_up(record: Record) -> tuple[str, ...]:
    asked = {str(call.arguments.get("factor")) for call in record.calls if call.tool == "look_up"}
    ranked = record.succeeded("rank_factors")
    uncounted = ranked[-1].read(RankResult).uncounted if ranked else ()
    return tuple(factor for factor in (*visible_factors(record), *uncounted) if factor not in asked)


def visible_factors(record: Record) -> tuple[str, ...]:
    """Factors that may be what makes runs slow, most important first."""
    ranked = record.succeeded("rank_factors")
    if not ranked:
        return ()
    return tuple(dict.fromkeys(factor.factor for factor in ranked[-1].read(RankResult).factors if factor.suspect))


def open_candidates(record: Record, limits: Limits) -> list[Candidate]:
    """Mitigations that can be tried here and have not been, in the order of the look-ups."""
    if limits.allow == "none":
        return []
    tried = {str(call.arguments.get("mitigation")) for call in record.calls if call.tool == "apply_mitigation"}
    measured = {call.arguments.get("mitigation") for call in record.succeeded("apply_mitigation")}
    if len(measured) >= limits.max_mitigations:
        return []
    looked = [candidate for call in record.succeeded("look_up") for candidate in call.read(LookUpResult).offered]
    ready = {c.mitigation: c for c in looked if c.mitigation not in tried}
    return list(ready.values())


def affordable_pairs(record: Record, limits: Limits) -> int:
    """Pairs that the rest of the budget pays for, at the baseline's mean run time."""
    measured = record.succeeded("measure")
    if not measured:
        return 0
    baseline = measured[-1].read(MeasureResult)
    runs = baseline.processes or baseline.runs + baseline.failed + baseline.warm_up
    left = limits.budget_s - record.spent_s
    return max(0, int(left / (2 * baseline.spent_s / runs))) if baseline.spent_s else 0


def _worth_profiling(record: Record, limits: Limits) -> bool:
    baseline = record.latest("measure").read(MeasureResult)
    return not baseline.unusable and not baseline.steady and record.spent_s < limits.budget_s


def _worth_predicting(record: Record) -> bool:
    """Once, where the baseline varies."""
    if not record.succeeded("measure") or any(call.tool == "predict_surface" for call in record.calls):
        return False
    baseline = record.latest("measure").read(MeasureResult)
    return not baseline.unusable and not baseline.steady


def _batches(record: Record, limits: Limits) -> list[tuple[str, int]]:
    """First batches of what was not tried, and the second batch of what looked steadier."""
    if affordable_pairs(record, limits) < LEAST_PAIRS:
        return []
    compared = [call.read(CompareResult) for call in record.succeeded("compare")]
    second = {
        str(call.arguments.get("mitigation"))
        for call in record.calls
        if call.tool == "apply_mitigation" and call.arguments.get("batch") == 2
    }
    promising = [r.mitigation for r in compared if r.batch == 1 and r.comparison.verdict == "steadier"]
    confirm = [(key, 2) for key in promising if key not in second]
    return confirm + [(candidate.mitigation, 1) for candidate in open_candidates(record, limits)]
