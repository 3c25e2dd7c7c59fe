"""A language model in the graph over recorded runs: the one that comes along, or one that the user names."""

from __future__ import annotations

from ...agent.model.chosen import SHIPPED, model_choice
from ...agent.planning import LLAMA, planning
from ...agent.settings import UserSettings
from ..recorded.recorded_case import ShownCase
from ..refusals import OWN
from .answer import ContestAnswer
from .loop import PlannerContestant


class Modelled:
    """Answers as `vgo-agent diagnose --planner llama --model SPEC` does."""

    def __init__(self, name: str) -> None:
        """Look at the model; raises VgoError where it, or llama.cpp, is not there."""
        self.name = name
        self._wish = model_choice(name.removeprefix(OWN) if name.startswith(OWN) else SHIPPED, UserSettings())

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Answer one case; the model is loaded for it alone."""
        with planning(LLAMA, self._wish) as chosen:
            return PlannerContestant(self.name, lambda _: chosen.planner).answer(case, seed)
