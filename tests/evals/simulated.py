"""States of simulated diagnoses, for tests."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from vgo_agent.agent.planners.base import Choice, Rules, View
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.simulator.diagnosis import DiagnosisOutcome, diagnose
from vgo_agent.tools.simulated import World


@dataclass
class Keeping:
    """The rule policy, or by chance any legal call; it keeps what it saw."""

    seed: int
    share: float
    seen: list[View] = field(default_factory=list)
    name: str = "keeping"

    def choose(self, view: View) -> Choice:
        self.seen.append(view)
        strays = random.Random(f"{self.seed}:{view.decisions}").random() < self.share
        return RandomLegal(self.seed).choose(view) if strays else Rules().choose(view)


def views(world: World, share: float = 0.0) -> list[View]:
    return kept(world, share)[1]


def kept(world: World, share: float) -> tuple[DiagnosisOutcome, list[View]]:
    keeping = Keeping(world.seed, share)
    return diagnose(world, keeping), keeping.seen
