"""conclude: legal at any time, and usual once the target is reached; where nothing else is usual, it is called, too."""

from __future__ import annotations

import random

from ..base import JsonArguments
from ..conclude import ConcludeArguments, run
from ..findings import Findings
from ..results import ConcludeResult
from ..simulated import World
from ..situation import Choices, Situation, Suggestion
from ..tool import Tool


class ConcludeTool(Tool[ConcludeArguments, ConcludeResult], run=run):
    """End with the verdict that the record supports."""

    def legal(self, _: Situation) -> Choices:
        """Always."""
        return ()

    def usual(self, situation: Situation, _: Choices) -> Suggestion | None:
        """Once a confirmed mitigation has reached the target; of a trial, when all of it is done."""
        if situation.plan.mitigation or not situation.findings.reached(situation.limits.target_ratio):
            return None
        return Suggestion({}, "the target is reached and confirmed")

    def simulate(self, world: World, found: Findings, _: JsonArguments, __: random.Random) -> ConcludeResult:
        """Give the verdict that the record really supports."""
        result = run(ConcludeArguments(), world.case(found.record)).result
        assert isinstance(result, ConcludeResult)
        return result
