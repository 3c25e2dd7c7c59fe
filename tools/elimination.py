"""Which levels of a parameter are clearly worse than another one: racing, with its chance of error paid.

Levels are run in rounds, each level once a round in random order, and looked at when the rounds have doubled, as in
successive halving. What is dropped is decided by a test, as in racing (Lopez-Ibanez and others 2016, "The irace
package", doi 10.1016/j.orp.2016.09.002), not by a fixed share: a level goes when another one that is still there is
better in the paired comparison at alpha over all pairs of levels and all looks (Bonferroni). So the chance that any
level goes although no other is better is at most alpha, whichever looks best when. Nothing is claimed from these
runs: the level that is left with the least spread has been chosen by them, and is confirmed by an independent batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .claim import Claim, TooFew, claim
from .comparison import arms_of, direction
from .plan import Aim
from .run_table import RunTable
from .statistics.deviations import Measure, contributions

FIRST_LOOK = 20
"""Rounds: fewer cannot show anything at a shared alpha."""
MEASURE_OF: Mapping[Aim, Measure] = {"sd": "spread", "mean": "mean"}
"""What decides."""


@dataclass(frozen=True)
class Rule:
    """How levels are held against each other."""

    aim: Aim
    lower_is_better: bool
    alpha: float
    """For one pair of levels at one look."""
    seed: int

    @classmethod
    def of(cls, aim: Aim, lower_is_better: bool, alpha: float, levels: int, rounds: int, seed: int) -> Rule:
        """Share alpha among all pairs of levels and all looks."""
        pairs = max(1, levels * (levels - 1) // 2)
        return cls(aim, lower_is_better, alpha / (pairs * max(1, len(looks(rounds)))), seed)

    def claim(self, table: RunTable, level: str, against: str, alpha: float | None = None) -> Claim | TooFew:
        """Hold a level against another one, round by round, at the shared alpha or at another."""
        pairs = table.paired(level, against)
        return claim(arms_of(pairs), MEASURE_OF[self.aim], alpha=alpha or self.alpha, seed=self.seed)

    def worse(self, claim: Claim | TooFew) -> bool:
        """Tell whether the second arm is clearly worse than the first."""
        less_is_better = self.aim == "sd" or self.lower_is_better
        return direction(claim) == ("more" if less_is_better else "less")

    def badness(self, table: RunTable, condition: str) -> float:
        """What is to be small, of the runs so far; infinite where no run counts."""
        outcomes = table.outcome(condition)
        if not outcomes.size:
            return float("inf")
        value = float(contributions(outcomes, MEASURE_OF[self.aim]).mean())
        return value if self.aim == "sd" or self.lower_is_better else -value


def looks(rounds: int) -> tuple[int, ...]:
    """After how many rounds levels are looked at: 20, doubled again and again, and the last."""
    return tuple(_doubled(rounds))


def _doubled(rounds: int) -> Iterator[int]:
    look = FIRST_LOOK
    while look < rounds:
        yield look
        look *= 2
    yield rounds


def eliminated(table: RunTable, racing: tuple[str, ...], rule: Rule) -> Mapping[str, str]:
    """Levels to drop now, with the level that is better; the one that looks best is never among them."""
    if len(racing) < 2:
        return {}
    leader = min(racing, key=lambda level: rule.badness(table, level))
    held = {level: rule.claim(table, level, leader) for level in racing if level != leader}
    return {level: leader for level, claim in held.items() if rule.worse(claim)}
