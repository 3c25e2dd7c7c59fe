"""What may be done next where the user chose the mitigation: measure, look at counters, try it, confirm it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tools.apply_by_hand import APPLY_BY_HAND, runs_like
from ..tools.apply_mitigation import ApplyResult
from ..tools.case import Record
from ..tools.compare import CompareResult
from ..tools.conclude_plan import chosen_values
from ..tools.measure import MeasureResult
from ..tools.plan import TrialPlan
from ..tools.subject import Limits
from .costs import LEAST_PAIRS, affordable_pairs, ran_out, time_left

Choices = Mapping[str, Mapping[str, tuple[Any, ...]]]


def planned(record: Record, limits: Limits, plan: TrialPlan) -> Choices:
    """Tools and the closed choices of their arguments; `conclude` always is legal."""
    steps = _steps(record, limits, plan)
    return {"conclude": {}, **steps}


def _steps(record: Record, limits: Limits, plan: TrialPlan) -> Choices:
    if not record.succeeded("measure"):
        return {"measure": {}}
    baseline = record.latest("measure").read(MeasureResult)
    if baseline.unusable:
        return {}
    if waiting := uncompared(record):
        return {"compare": {"call": waiting}}
    if plan.by_hand:
        asked = any(call.tool == APPLY_BY_HAND.name for call in record.calls)
        chosen = {"mitigation": (plan.mitigation,), "runs": (plan.pairs or runs_like(baseline),)}
        return {} if asked else {APPLY_BY_HAND.name: chosen}
    if not time_left(record, limits):
        return {}
    if not any(call.tool == "profile" for call in record.calls):
        return {"profile": {}}
    return _trial(record, limits, plan)


def _trial(record: Record, limits: Limits, plan: TrialPlan) -> Choices:
    if plan.search and not any(call.tool == "screen_levels" and not ran_out(call) for call in record.calls):
        search = plan.search
        chosen = {
            "mitigation": (plan.mitigation,),
            "values": (plan.values,),
            "parameter": (search.parameter,),
            "levels": (list(search.levels),),
            "minimise": (search.minimise,),
        }
        return {"screen_levels": chosen}
    batch = _batch(record, plan)
    least = min(plan.pairs or LEAST_PAIRS, LEAST_PAIRS)
    if batch is None or affordable_pairs(record, limits, plan.mitigation) < least:
        return {}
    values = chosen_values_of(record, plan)
    return {"apply_mitigation": {"mitigation": (plan.mitigation,), "values": (values,), "batch": (batch,)}}


def chosen_values_of(record: Record, plan: TrialPlan) -> dict[str, str]:
    """Those that the screening left, else those that the user gave."""
    return chosen_values(record, plan) or dict(plan.values)


def _batch(record: Record, plan: TrialPlan) -> int | None:
    """The first batch, then the one that confirms it; of a search only the latter. None: nothing is left to run."""
    applied = (call for call in record.calls if call.tool == "apply_mitigation" and not ran_out(call))
    tried = [call.arguments.get("batch", 1) for call in applied]
    if plan.search:
        return None if tried or not chosen_values(record, plan) else 2
    if not tried:
        return 1
    compared = (call.read(CompareResult) for call in record.succeeded("compare"))
    less = any(result.batch == 1 and result.comparison.direction == "less" for result in compared)
    return 2 if less and 2 not in tried else None


def uncompared(record: Record) -> tuple[str, ...]:
    """Batches in force that the program bore, and series by hand, that no comparison has looked at."""
    done = {str(call.arguments.get("call")) for call in record.calls if call.tool == "compare"}
    batches = ((call, call.read(ApplyResult)) for call in record.succeeded("apply_mitigation"))
    sound = (call for call, applied in batches if applied.in_force and not applied.broke)
    return tuple(call.call_id for call in (*sound, *record.succeeded(APPLY_BY_HAND.name)) if call.call_id not in done)
