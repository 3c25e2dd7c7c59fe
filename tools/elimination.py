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

from .plan import Aim
from .run_table import RunTable
from .statistics.comparison.compare import LEAST_RUNS, Comparison, compare
from .statistics.spread import summarise

FIRST_LOOK = 20
"""Rounds: with fewer, no interval of an SD ratio is given."""


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

    def compare(self, table: RunTable, level: str, against: str, claim: bool = True) -> Comparison | None:
        """Hold a level against another one, round by round; None with too few complete rounds to tell by.

        Without `claim` it is for the eye only, so no p-value has to come below the shared level.
        """
        there, here, whole, hosts = table.paired(level, against)
        if len(there) // whole < LEAST_RUNS:
            return None
        # The two statistics of spread share it, so a p-value as small takes more than two permutations over the level.
        resamples = max(2000, int(6 / self.alpha)) if claim else 2000
        return compare(
            there,
            here,
            lower_is_better=self.lower_is_better,
            seed=self.seed,
            resamples=resamples,
            alpha=self.alpha,
            whole=whole,
            hosts=hosts,
        )

    def worse(self, comparison: Comparison) -> bool:
        """Tell whether the second arm is clearly worse than the first."""
        if self.aim == "sd":
            return comparison.verdict == "less steady"
        return comparison.p_location < self.alpha and not self._less(comparison)

    def _less(self, comparison: Comparison) -> bool:
        mean = comparison.ratio("mean")
        return (mean.other or 0.0) < (mean.baseline or 0.0) if self.lower_is_better else self._more(comparison)

    @staticmethod
    def _more(comparison: Comparison) -> bool:
        mean = comparison.ratio("mean")
        return (mean.other or 0.0) > (mean.baseline or 0.0)

    def badness(self, table: RunTable, condition: str) -> float:
        """What is to be small, of the runs so far; infinite where no run counts."""
        outcomes = table.outcome(condition)
        if not outcomes.size:
            return float("inf")
        summary = summarise(outcomes)
        if self.aim == "sd":
            return summary.sd if summary.sd is not None else float("inf")
        return summary.mean if self.lower_is_better else -summary.mean


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
    held = {level: rule.compare(table, level, leader) for level in racing if level != leader}
    return {level: leader for level, comparison in held.items() if comparison and rule.worse(comparison)}
