"""How long a recording takes, and how many runs and pairs fit into the minutes that there are."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...tools.experiment.rotation import bare_runs
from ...tools.interim import BATCH_PAIRS
from .bench import BATCHES, SHARE

MINUTE_S = 60.0
FLOOR = BATCHES * BATCH_PAIRS
"""Pairs: with fewer, one batch is no longer what a diagnosis asks for at least."""
FEW = 8
"""Mitigations that are counted on before it is known which ones there will be."""


class Sizes(NamedTuple):
    """Of one recording."""

    runs: int
    """Of the baseline, and profiled ones."""
    pairs: int
    """With each mitigation."""

    def minutes(self, run_s: float, mitigations: int) -> float:
        """All runs, at so many seconds each: baseline, profiled, bare ones between, two for each pair."""
        runs = 2 * self.runs + bare_runs(self.runs, self.runs) + 2 * self.pairs * mitigations
        return runs * run_s / MINUTE_S


def fitted(asked: Sizes, minutes: float, run_s: float, mitigations: int, refuse: bool) -> Sizes:
    """Scale down to what fits, with the runs that so many pairs allow a diagnosis; stop at the floor, or refuse.

    Raises VgoError where it refuses.
    """
    if asked.minutes(run_s, mitigations) <= minutes:
        return asked
    least = _sizes(min(FLOOR, asked.pairs))
    one = _sizes(asked.pairs)
    pairs = min(asked.pairs, math.floor(asked.pairs * minutes / one.minutes(run_s, mitigations)))
    if pairs < least.pairs and refuse:
        raise VgoError(
            f"--minutes {minutes:g}: {least.runs} runs and {least.pairs} pairs with {mitigations} mitigations take "
            f"about {least.minutes(run_s, mitigations):.0f} minutes, and fewer show nothing: give more, or "
            "a smaller input."
        )
    pairs = max(pairs, least.pairs)
    return Sizes(min(asked.runs, _sizes(pairs).runs), pairs)


def words(sizes: Sizes, run_s: float, mitigations: int) -> str:
    """Say what it will take, and what pairs of that number can show."""
    batch = sizes.pairs // BATCHES
    return (
        f"About {sizes.minutes(run_s, mitigations):.1f} minutes at {run_s:.3g} s a run: {sizes.runs} runs of the "
        f"baseline, as many profiled, and {sizes.pairs} pairs with each of {mitigations} mitigations. A diagnosis of "
        f"it has {batch} pairs a batch, in which only an SD ratio below about {1 / _width(batch):.2f} can be proved."
    )


def _sizes(pairs: int) -> Sizes:
    """So many pairs, and the runs that the limits of the case then allow a diagnosis."""
    return Sizes(math.ceil(pairs / BATCHES / SHARE), pairs)


def _width(pairs: int) -> float:
    """Factor from an SD ratio of two normal samples to an end of its 95 % interval: var(ln s) is 1 / (2 (n - 1))."""
    return math.exp(1.96 / math.sqrt(max(pairs, 2) - 1))
