"""measure: the baseline comes first."""

from __future__ import annotations

import math
import random

from ..base import JsonArguments
from ..findings import Findings
from ..measure import FLOOR, MeasureArguments, run
from ..results import MeasureResult
from ..simulated import World, shape_of, stumble, summary_of
from ..situation import Choices, Situation, Suggestion, seconds_amounts, whole_amounts
from ..statistics.ratio_test import FEWEST
from ..tool import Tool

SHARE = 0.2
"""Of the budget; most of the rest re-measures mitigations, which is where proof comes from."""


class MeasureTool(Tool[MeasureArguments, MeasureResult], run=run, measures=True):
    """Run the program without layers until its spread is known."""

    def legal(self, situation: Situation) -> Choices | None:
        """Once."""
        return () if situation.findings.measured is None else None

    def usual(self, situation: Situation, _: Choices) -> Suggestion:
        """Until the spread is known, within its share of the budget."""
        limits = situation.limits
        arguments = {"max_runs": limits.max_runs, "max_seconds": limits.budget_s * SHARE}
        return Suggestion(arguments, "the baseline comes first")

    def amounts(self, situation: Situation, _: Choices) -> Choices:
        """Runs and seconds."""
        limits = situation.limits
        runs = whole_amounts("max_runs", limits.max_runs, limits.min_runs, limits.max_runs)
        return runs, seconds_amounts("max_seconds", limits.budget_s * SHARE)

    def simulate(self, world: World, _: Findings, arguments: JsonArguments, chance: random.Random) -> MeasureResult:
        """Run until the rule is content, or runs or seconds are used up."""
        stumble(world, chance)
        paid = max(2, int(arguments["max_seconds"] / world.run_s))
        runs = min(world.enough, int(arguments["max_runs"]), paid)
        least = max(FEWEST, min(FLOOR, world.limits.min_runs))
        unusable = f"Only {runs} runs count, and a spread needs at least {least}." if runs < least else ""
        stopped = "spread known" if runs == world.enough else "time cap" if runs == paid else "run cap"
        cv = world.cv * math.exp(chance.gauss(0, 1 / math.sqrt(runs)))
        return MeasureResult(
            runs=runs,
            failed=0,
            survivors=0,
            warm_up=0,
            stopped_by=stopped,
            spent_s=runs * world.run_s,
            outcome=summary_of(runs, world.run_s, cv),
            sd_interval=None,
            processes=runs,
            shape=shape_of(runs, world.run_s, chance.choice((1, 1, 2, 3)), chance.random() < 0.4),
            unusable=unusable,
            steady=not unusable and cv <= world.limits.steady_cv,
            pairs_needed=world.needed,
            summary=unusable or f"{runs} runs, CV {100 * cv:.2g} %; stopped by {stopped}.",
        )
