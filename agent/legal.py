"""What may be done next: tools whose preconditions hold, with the values their arguments may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..tools.amount import LONGEST
from ..tools.base import ToolError
from ..tools.candidates import LEAST_IN_CLASS
from ..tools.case import Record, changes_system
from ..tools.compare import CompareResult
from ..tools.look_up import Candidate, LookUpResult
from ..tools.measure import MeasureResult
from ..tools.plan import NO_PLAN, TrialPlan
from ..tools.profile import ProfileResult
from ..tools.rank_factors import RankResult
from ..tools.subject import Limits
from .costs import LEAST_PAIRS, affordable_pairs, ran_out, time_left
from .legal_plan import planned, uncompared

STEPS = {"profile": "a profile", "screen_levels": "a screening of its levels"}
"""As a verdict names what there was no time for."""

MOST_ATTEMPTS = 2
"""At a second look; layers that no run survives would fail again."""


@dataclass(frozen=True)
class Legal:
    """Tool name to the closed choices of its arguments; arguments not named are free within their schema."""

    tools: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    batches: frozenset[tuple[str, int]] = frozenset()
    """(mitigation, batch) that may be applied."""
    no_time: tuple[tuple[str, int], ...] = ()
    """(mitigation, batch) that might be applied if more were left of the budget."""
    unseen: tuple[str, ...] = ()
    """Tools that only the budget keeps from being called."""

    @property
    def ran_out(self) -> tuple[str, ...]:
        """What only the budget keeps from being done, in words."""
        steps = (STEPS.get(tool, tool) for tool in self.unseen)
        return (*steps, *(key if batch == 1 else f"a second batch of {key}" for key, batch in self.no_time))

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
                f"Batch {pair[1]} of {pair[0]} is not legal now: batch 2 confirms a batch 1 that scattered less."
            )


def legal(record: Record, limits: Limits, plan: TrialPlan = NO_PLAN) -> Legal:
    """Work out what may be done next from the finished calls."""
    if plan.mitigation:
        return _of_plan(record, limits, plan)
    tools: dict[str, Mapping[str, tuple[Any, ...]]] = {"conclude": {}}
    tools |= _steps(record, limits)
    spare = not record.clocked or time_left(record, limits)
    if (factors := _not_looked_up(record)) and (spare or not record.succeeded("look_up")):
        tools["look_up"] = {"factor": factors}
    wanted = _wanted(record, limits)
    batches = [one for one in wanted if affordable_pairs(record, limits, one[0]) >= LEAST_PAIRS]
    if batches:
        tools["apply_mitigation"] = {"mitigation": tuple(dict.fromkeys(key for key, _ in batches))}
    if plan.surface and _worth_predicting(record) and spare:
        tools["predict_surface"] = {}
    if calls := uncompared(record):
        tools["compare"] = {"call": calls}
    no_time = tuple(one for one in wanted if one not in batches)
    return Legal(tools, frozenset(batches), no_time, _unseen(record, limits, tools))


def was_legal(record: Record, number: int, limits: Limits, plan: TrialPlan) -> bool:
    """Judge a call by those that had ended before it."""
    call = record.calls[number]
    try:
        legal(replace(record, calls=record.calls[:number]), limits, plan).check(call.tool, call.arguments)
    except ToolError:
        return False
    return True


def _of_plan(record: Record, limits: Limits, plan: TrialPlan) -> Legal:
    tools = planned(record, limits, plan)
    more = planned(record, limits.model_copy(update={"budget_s": LONGEST}), plan)
    no_time = () if "apply_mitigation" in tools else _chosen(more, plan)
    unseen = tuple(tool for tool in more if tool not in tools and tool != "apply_mitigation")
    return Legal(tools, frozenset(_chosen(tools, plan)), no_time, unseen)


def _chosen(tools: Mapping[str, Mapping[str, tuple[Any, ...]]], plan: TrialPlan) -> tuple[tuple[str, int], ...]:
    return tuple((plan.mitigation, batch) for batch in tools.get("apply_mitigation", {}).get("batch", ()))


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
    shown = bool(visible_factors(record)) or _steady(record)
    if not waiting or attempts >= MOST_ATTEMPTS or shown or not time_left(record, limits):
        return {}
    return {"profile": {"layers": (list(waiting),)}}


def _steady(record: Record) -> bool:
    """Tell whether the runs do not vary, so that only their failures are to be explained."""
    return record.latest("measure").read(MeasureResult).steady


def _not_looked_up(record: Record) -> tuple[str, ...]:
    asked = {str(call.arguments.get("factor")) for call in record.calls if call.tool == "look_up"}
    ranked = record.succeeded("rank_factors")
    if ranked and _steady(record):
        return ()
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
    applied = [call for call in record.calls if call.tool == "apply_mitigation" and not ran_out(call)]
    tried = {str(call.arguments.get("mitigation")) for call in applied}
    measured = {call.arguments.get("mitigation") for call in record.succeeded("apply_mitigation")}
    if len(measured) >= limits.max_mitigations:
        return []
    ready = {c.mitigation: c for c in _offered(record) if c.mitigation not in tried}
    return [c for c in ready.values() if not (record.no_system and changes_system(c.scope))]


def _offered(record: Record) -> list[Candidate]:
    return [candidate for call in record.succeeded("look_up") for candidate in call.read(LookUpResult).offered]


def _worth_profiling(record: Record, limits: Limits) -> bool:
    """The baseline varies, or fails often enough for its failures to be explained."""
    baseline = record.latest("measure").read(MeasureResult)
    to_explain = not baseline.steady or baseline.failed >= LEAST_IN_CLASS
    return not baseline.unusable and to_explain and time_left(record, limits)


def _unseen(record: Record, limits: Limits, tools: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the step that is due and that only the budget forbids."""
    more = limits.model_copy(update={"budget_s": LONGEST})
    due = _steps(record, more)
    return tuple(tool for tool in due if tool not in tools)


def _worth_predicting(record: Record) -> bool:
    """Once, where the baseline varies."""
    if not record.succeeded("measure") or any(call.tool == "predict_surface" for call in record.calls):
        return False
    baseline = record.latest("measure").read(MeasureResult)
    return not baseline.unusable and not baseline.steady


def _wanted(record: Record, limits: Limits) -> list[tuple[str, int]]:
    """First batches of what was not tried, and the second batch of what scattered less, whatever they cost."""
    compared = [call.read(CompareResult) for call in record.succeeded("compare")]
    second = {
        str(call.arguments.get("mitigation"))
        for call in record.calls
        if call.tool == "apply_mitigation" and call.arguments.get("batch") == 2 and not ran_out(call)
    }
    promising = [r.mitigation for r in compared if r.batch == 1 and r.comparison.direction == "less"]
    refused = {c.mitigation for c in _offered(record) if record.no_system and changes_system(c.scope)}
    confirm = [(key, 2) for key in promising if key not in second | refused]
    return confirm + [(candidate.mitigation, 1) for candidate in open_candidates(record, limits)]
