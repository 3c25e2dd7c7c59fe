"""The language model that comes along, in the graph over recorded runs."""

from __future__ import annotations

from ...agent.model.chosen import SHIPPED, wish_of
from ...agent.planning import LLAMA, planning
from ...agent.settings import Settings
from ..recorded.recorded_case import ShownCase
from .answer import Answer
from .loop import PlannerContestant


class Shipped:
    """Answers as `vgo-agent diagnose --planner llama` does where no other model is configured."""

    name = LLAMA

    def __init__(self) -> None:
        """Look at the file; raises VgoError where it, or llama.cpp, is not there."""
        self._wish = wish_of(SHIPPED, Settings())

    def answer(self, case: ShownCase, seed: int) -> Answer:
        """Answer one case; the model is loaded for it alone."""
        with planning(LLAMA, self._wish) as chosen:
            return PlannerContestant(self.name, lambda _: chosen.planner).answer(case, seed)
