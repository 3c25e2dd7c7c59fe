"""screen_levels: every level of a parameter in random rounds, before the one that is left is confirmed."""

from __future__ import annotations

from ..screen_levels import ScreenArguments, run
from ..situation import Choices, Situation, Slot, Suggestion, first, whole_amounts
from ..tool import Tool
from ..trial_results import OUT_OF_TIME, ScreenResult

SHARE = 0.5
"""Of what is left of the budget."""
LEAST_ROUNDS, MOST_ROUNDS = 20, 160


def left_to_screen(situation: Situation) -> bool:
    """Tell whether the user wants a level searched, and nothing but time has kept it from being done."""
    done = any(call.error != OUT_OF_TIME for call in situation.findings.called("screen_levels"))
    return situation.plan.search is not None and not done


def _rounds(situation: Situation) -> int:
    plan = situation.plan
    arms = 1 + len(plan.search.levels if plan.search else ())
    affordable = int(situation.affordable_pairs() * 2 * SHARE / arms)
    most = min(situation.limits.max_runs, plan.pairs or MOST_ROUNDS)
    return max(min(LEAST_ROUNDS, most), min(most, affordable))


class ScreenLevelsTool(Tool[ScreenArguments, ScreenResult], run=run, title="Screen levels of", applies="itself"):
    """Run the levels of a mitigation's parameter in random rounds, and drop what is clearly worse."""

    def legal(self, situation: Situation) -> Choices | None:
        """Once, after the profile."""
        measured, plan, search = situation.findings.measured, situation.plan, situation.plan.search
        profiled = situation.findings.called("profile")
        if search is None or not left_to_screen(situation) or plan.by_hand or not profiled or not situation.time_left:
            return None
        if measured is None or measured.unusable:
            return None
        chosen = {
            "mitigation": plan.mitigation,
            "values": plan.values,
            "parameter": search.parameter,
            "levels": list(search.levels),
            "minimise": search.minimise,
        }
        return tuple(Slot((name,), ((value,),)) for name, value in chosen.items())

    def usual(self, situation: Situation, choices: Choices) -> Suggestion:
        """As many rounds as are paid for."""
        return Suggestion({**first(choices), "rounds": _rounds(situation)}, "run every level in random rounds")

    def amounts(self, situation: Situation, _: Choices) -> Choices:
        """Rounds."""
        return (whole_amounts("rounds", _rounds(situation), 2, max(2, situation.limits.max_runs)),)

    def missed(self, now: Choices | None, _: Choices) -> tuple[str, ...]:
        """Name it where there is no time for it."""
        return ("a screening of its levels",) if now is None else ()
