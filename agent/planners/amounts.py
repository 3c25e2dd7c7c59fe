"""How much a call that measures is to cost: what the rule policy spends, and what any other planner may choose from."""

from __future__ import annotations

from typing import Any

from ...tools.measure import MeasureResult
from ..costs import affordable_pairs
from .base import View

PROFILE_RUNS = 100
"""Runs with each set of layers at least: weak causes need them."""
MEASURE_SHARE = 0.2
PROFILE_SHARE = 0.25
"""Shares of the budget; the rest re-measures mitigations, which is where proof comes from."""
LEAST_PAIRS = 40
"""Fewer give no interval for p95."""
MOST_PAIRS = 200


def to_measure(view: View) -> dict[str, Any]:
    """Arguments of `measure`."""
    limits = view.limits
    return {"max_runs": limits.max_runs, "max_seconds": limits.budget_s * MEASURE_SHARE}


def to_profile(view: View) -> dict[str, Any]:
    """Arguments of `profile`, the heavy layers where they are due."""
    limits, baseline = view.limits, view.record.latest("measure").read(MeasureResult)
    waiting = view.legal.tools["profile"].get("layers", ())
    return {
        "layers": waiting[0] if waiting else list(limits.layers),
        "runs": min(limits.max_runs, max(PROFILE_RUNS, baseline.runs)),
        "max_seconds": limits.budget_s * PROFILE_SHARE,
    }


def to_apply(view: View, mitigation: str = "") -> int:
    """Pairs of a batch: as many as the baseline's spread asks for, within the limits and what is left of the budget."""
    needed = view.record.latest("measure").read(MeasureResult).pairs_needed
    most = min(view.limits.max_runs, affordable_pairs(view.record, view.limits, mitigation))
    return max(2, min(max(needed, LEAST_PAIRS), MOST_PAIRS, most))
