"""A look at the first half of the pairs: whether the other half is still needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..knowledge.shape import Frozen
from .case import Case
from .claim import Claim, TooFew, claim
from .comparison import arms_of, below, direction
from .row import Row
from .run_table import outcomes_of
from .statistics.stopping.interim import SHARE, bounds

BATCH_PAIRS = 40
"""Of the smallest batch that is planned, and at the first look at one. A claim takes fewer (`FEWEST`) and shows little
then: where normal runs fall to the margin, 40 pairs show it in 59 % of the batches (docs/calibration.md)."""


class InterimLook(Frozen):
    """What the first pairs showed."""

    pairs: int
    """Complete ones."""
    spread: Claim | TooFew
    """At the level of this look."""
    stopped: bool


def look_after(pairs: int) -> int | None:
    """Say after how many of the planned pairs to look; None when half of them are too few to tell by."""
    half = int(pairs * SHARE)
    return half if half >= BATCH_PAIRS else None


def look(rows: Sequence[Row], mitigation: str, batch: int, case: Case) -> InterimLook | None:
    """Judge the pairs as `compare` will; None with too few complete ones.

    It depends on the rows and the limits only, so that a resumed series decides as an unbroken one.
    """
    pairs = outcomes_of(rows, "the pairs so far").paired(mitigation)
    if (count := len(pairs.baseline) // pairs.whole) < BATCH_PAIRS:
        return None
    spread = claim(arms_of(pairs), alpha=bounds(case.limits.alpha).first, seed=case.limits.seed)
    # The confirming batch is the one that is reported, so it goes on until the target is reached.
    limit = 1.0 if batch == 1 else case.limits.target_ratio
    return InterimLook(pairs=count, spread=spread, stopped=direction(spread) == "more" or below(spread, limit))


@dataclass
class LookAtHalf:
    """The look at one batch of a mitigation, taken in its turn."""

    mitigation: str
    batch: int
    case: Case
    after: int | None
    """Pairs; None: there is no look."""
    taken: tuple[InterimLook, ...] = ()

    def stops(self, rows: Sequence[Row]) -> bool:
        """Look at the pairs so far, and tell whether the others are not needed."""
        found = look(rows, self.mitigation, self.batch, self.case)
        self.taken = (found,) if found else ()
        return stopped_early(self.taken)


def stopped_early(looks: Sequence[InterimLook]) -> bool:
    """Tell whether a look ended the pairs."""
    return any(taken.stopped for taken in looks)


def left_after(looks: Sequence[InterimLook], alpha: float) -> float:
    """Give the share of alpha that is left for the pairs."""
    levels = bounds(alpha)
    return (levels.first if stopped_early(looks) else levels.last) / alpha if looks else 1.0
