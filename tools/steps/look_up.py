"""look_up: what is known about a factor that goes with slow runs, and what may help."""

from __future__ import annotations

import random

from ..base import JsonArguments
from ..findings import Findings
from ..look_up import LookUpArguments, run
from ..results import LookUpResult
from ..simulated import World
from ..situation import Choices, Situation, Slot, Suggestion
from ..tool import Tool


def _not_looked_up(situation: Situation) -> tuple[str, ...]:
    findings = situation.findings
    if findings.ranking is None or (findings.measured and findings.measured.steady):
        return ()
    asked = {str(call.arguments.get("factor")) for call in findings.called("look_up")}
    suspects = dict.fromkeys(factor.factor for factor in findings.suspects)
    return tuple(factor for factor in (*suspects, *findings.ranking.uncounted) if factor not in asked)


class LookUpTool(Tool[LookUpArguments, LookUpResult], run=run, analyses=True):
    """Look up a factor and its mitigations."""

    def legal(self, situation: Situation) -> Choices | None:
        """Suspects, and factors that no counter shows, once each; all but the first look-up need time to spare."""
        factors = () if situation.plan.mitigation else _not_looked_up(situation)
        if not factors or not (situation.time_to_spare or not situation.findings.looked_up):
            return None
        return (Slot(("factor",), tuple((factor,) for factor in factors)),)

    def usual(self, situation: Situation, choices: Choices) -> Suggestion:
        """The most important of them."""
        factor, ranking = choices[0].choices[0][0], situation.findings.ranking
        why = f"what is known about {factor}, and what may help"
        if ranking and factor in ranking.uncounted:
            why = f"no counter shows {factor}: only trying can tell"
        return Suggestion({"factor": factor}, why)

    def simulate(self, world: World, _: Findings, arguments: JsonArguments, __: random.Random) -> LookUpResult:
        """Look up what is really known."""
        return world.looked_up(str(arguments["factor"]))
