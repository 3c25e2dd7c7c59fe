"""Which levels of a parameter are clearly worse than another one: racing, with its chance of error paid.

Levels are run in rounds, each level once a round in random order, and looked at when the rounds have doubled, as in
successive halving. What is dropped is decided by a test, as in racing (Lopez-Ibanez and others 2016, "The irace
package", doi 10.1016/j.orp.2016.09.002), not by a fixed share: a level goes when another one that is still there is
better in the paired comparison at alpha over all pairs of levels and all looks (Bonferroni). So the chance that any
level goes although no other is better is at most alpha, whichever looks best when. Nothing is claimed from these
runs: the level that is left with the least spread has been chosen by them, and is confirmed by an independent batch.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..claim import Claim, TooFew, claim
from ..comparison import arms_of, direction
from ..execution.series import BARRIER, Block
from ..hosts import on_one_level
from ..row import BASELINE, Row
from ..run_table import RunTable, outcomes_of
from ..statistics.ratio_test import FEWEST, Measure, contributions
from ..subject import Aim
from .experiment import Done

FIRST_LOOK = 2 * FEWEST
"""Rounds: fewer cannot show anything at a shared alpha."""
MEASURE_OF: Mapping[Aim, Measure] = {"sd": "spread", "mean": "mean"}
"""What decides."""


@dataclass(frozen=True)
class Elimination:
    """How levels are held against each other."""

    aim: Aim
    lower_is_better: bool
    alpha: float
    """For one pair of levels at one look."""
    seed: int

    @classmethod
    def of(cls, aim: Aim, lower_is_better: bool, alpha: float, levels: int, rounds: int, seed: int) -> Elimination:
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
    doubled = (FIRST_LOOK << times for times in itertools.count())
    return (*itertools.takewhile(lambda look: look < rounds, doubled), rounds)


def eliminated(table: RunTable, racing: tuple[str, ...], rule: Elimination) -> Mapping[str, str]:
    """Levels to drop now, with the level that is better; the one that looks best is never among them."""
    if len(racing) < 2:
        return {}
    leader = min(racing, key=lambda level: rule.badness(table, level))
    held = {level: rule.claim(table, level, leader) for level in racing if level != leader}
    return {level: leader for level, claim in held.items() if rule.worse(claim)}


def tabled(rows: Sequence[Row]) -> RunTable:
    """Read rows as a table of outcomes, those of many hosts on one level."""
    return outcomes_of(on_one_level(rows), "the rounds so far")


@dataclass
class Race:
    """Rounds of the baseline and all levels that are left; a level that is clearly worse than another is dropped."""

    levels: tuple[str, ...]
    parameter: str
    """That they are levels of."""
    numbers: int
    """Rounds."""
    seed: str
    rule: Elimination
    broke: Callable[[str, Sequence[Row]], str]
    """Says how a level makes the program fail; empty where it does not."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Level to why it does not go on."""
    left_at: dict[str, int] = field(default_factory=dict)
    """Level to the rounds that it had."""

    @property
    def left(self) -> tuple[str, ...]:
        """Levels that still run."""
        return tuple(level for level in self.levels if level not in self.dropped)

    def drop(self, level: str, why: str, rounds: int = 0) -> None:
        """Leave a level out from now on."""
        self.dropped[level], self.left_at[level] = why, rounds

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give each round as one block, and look when it is due."""
        coin, due = random.Random(self.seed), looks(self.numbers)
        for number in range(self.numbers):
            self._drop_failing(done(), number)
            if not self.left:
                return
            order = coin.sample([BASELINE, *self.levels], 1 + len(self.levels))
            yield Block(number, tuple(one for one in order if one not in self.dropped))
            if number + 1 in due:
                yield BARRIER
                rows = done()
                self._look(tabled(rows), number + 1)
                if len(self.left) == 1 and number + 1 < self.numbers and not self._even(rows):
                    return

    def _drop_failing(self, rows: Sequence[Row], rounds: int) -> None:
        for level in self.left:
            if broke := self.broke(level, rows):
                self.drop(level, broke, rounds)

    def _look(self, table: RunTable, rounds: int) -> None:
        """Drop what is clearly worse than the best so far, the baseline among them."""
        for level, better in eliminated(table, (BASELINE, *self.left), self.rule).items():
            if level != BASELINE:
                what = "the baseline" if better == BASELINE else f"{self.parameter}={better}"
                self.drop(level, f"clearly worse than {what} after {rounds} rounds", rounds)

    def _even(self, rows: Sequence[Row]) -> bool:
        """Tell whether the last level is not yet plainly better than the baseline."""
        return not self.rule.worse(self.rule.claim(tabled(rows), BASELINE, self.left[0]))
