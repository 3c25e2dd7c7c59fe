"""Wilson's interval of a share, the bootstrap's of a median or mean, the exact test of two paired shares."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest, norm

LEVEL = 0.95
Z = float(norm.ppf((1 + LEVEL) / 2))
DRAWS = 1000
"""Of a bootstrap; the same ones each time."""


class ScoreInterval(NamedTuple):
    """Lower and upper bound."""

    low: float
    high: float


def wilson(share: float, n: int) -> ScoreInterval:
    """Give Wilson's score interval of a share of n (Wilson 1927, J. Am. Stat. Assoc. 22, 209).

    The share need not be a whole number of n: over cases it is a mean of means over seeds.
    """
    if n < 1:
        raise ValueError("a share of nothing has no interval")
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    reach = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return ScoreInterval(max(0.0, min(centre - reach, share)), min(1.0, max(centre + reach, share)))


@functools.cache
def resampled(values: tuple[float, ...], statistic: Callable[[Sequence[float]], float]) -> ScoreInterval:
    """Give the percentile interval of a statistic by the bootstrap over these values (Efron 1979), seeded."""
    if not values:
        raise ValueError("nothing has no interval")
    drawn = np.random.default_rng(1).choice(np.array(values), (DRAWS, len(values)))
    low, high = np.quantile([statistic(each) for each in drawn.tolist()], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return ScoreInterval(float(low), float(high))


def fewest_without(bound: float) -> int:
    """Give the least n of which not one shows by Wilson's interval that a share is at most the bound."""
    return math.ceil(Z * Z * (1 - bound) / bound)


def mcnemar(only_first: int, only_second: int) -> float:
    """Give the p-value of McNemar's exact test, two-sided, from the pairs in which only one of two was right."""
    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0


def geometric_mean(values: Sequence[float]) -> float:
    """Give the geometric mean; 0 as soon as one value is 0."""
    if not values:
        raise ValueError("nothing has no mean")
    if min(values) <= 0:
        return 0.0
    return math.exp(sum(map(math.log, values)) / len(values))
