"""The planner of `try` and `tune`: what is legal is one step after another, and it takes the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...tools.measure import MeasureResult
from ..costs import affordable_pairs
from .base import Choice, View

PROFILE_RUNS = 20
"""Enough to know how many CPUs the program keeps busy; what the counters do under the mitigation, its pairs show."""
MEASURE_SHARE, PROFILE_SHARE, SCREEN_SHARE = 0.2, 0.1, 0.5
"""Shares of the budget."""
LEAST_PAIRS, MOST_PAIRS = 40, 200
LEAST_ROUNDS, MOST_ROUNDS = 20, 160


@dataclass(frozen=True)
class Fixed:
    """Deterministic; needs no model."""

    name: str = "fixed"

    def choose(self, view: View) -> Choice:
        """Take the step that is legal beside `conclude`."""
        for tool, step in STEPS.items():
            if tool in view.legal.tools:
                return step(view)
        return Choice("conclude", {}, "the plan is carried out")


def _measure(view: View) -> Choice:
    limits = view.limits
    arguments = {"max_runs": limits.max_runs, "max_seconds": limits.budget_s * MEASURE_SHARE}
    return Choice("measure", arguments, "the baseline comes first")


def _profile(view: View) -> Choice:
    arguments = {
        "layers": list(view.limits.layers),
        "runs": PROFILE_RUNS,
        "max_seconds": view.limits.budget_s * PROFILE_SHARE,
    }
    return Choice("profile", arguments, "see how many CPUs it keeps busy, and which counters can be watched")


def _screen(view: View) -> Choice:
    chosen = _only(view, "screen_levels")
    arms = 1 + len(view.plan.search.levels if view.plan.search else ())
    affordable = int(affordable_pairs(view.record, view.limits) * 2 * SCREEN_SHARE / arms)
    most = min(view.limits.max_runs, view.plan.pairs or MOST_ROUNDS)
    rounds = max(min(LEAST_ROUNDS, most), min(most, affordable))
    return Choice("screen_levels", {**chosen, "rounds": rounds}, "run every level in random rounds")


def _apply(view: View) -> Choice:
    chosen = _only(view, "apply_mitigation")
    why = (
        "apply it, prove it, run pairs" if chosen["batch"] == 1 else "it looked better: confirm in an independent batch"
    )
    return Choice("apply_mitigation", {**chosen, "pairs": _pairs(view)}, why)


def _pairs(view: View) -> int:
    """As many as were asked for, else as the spread asks for and the budget pays."""
    affordable = max(2, affordable_pairs(view.record, view.limits, view.plan.mitigation))
    if view.plan.pairs:
        return min(view.plan.pairs, affordable)
    needed = view.record.latest("measure").read(MeasureResult).pairs_needed
    return min(max(needed, LEAST_PAIRS), MOST_PAIRS, view.limits.max_runs, affordable)


def _by_hand(view: View) -> Choice:
    return Choice("apply_by_hand", _only(view, "apply_by_hand"), "a person applies it, then it is measured again")


def _compare(view: View) -> Choice:
    return Choice("compare", _only(view, "compare"), "judge the runs just measured")


def _only(view: View, tool: str) -> dict[str, object]:
    """The first, and mostly only, value of each closed choice."""
    return {name: values[0] for name, values in view.legal.tools[tool].items()}


STEPS: dict[str, Callable[[View], Choice]] = {
    "measure": _measure,
    "compare": _compare,
    "profile": _profile,
    "screen_levels": _screen,
    "apply_mitigation": _apply,
    "apply_by_hand": _by_hand,
}
