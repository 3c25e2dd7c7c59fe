"""The ratio of two samples' medians and its interval, symmetric: that of B over A is one over that of A over B.

The bootstrap distribution of a median has a closed form (Maritz and Jarrett, JASA 73, 1978): the weight of each order
statistic is a difference of the beta distribution. The ratio of two independent medians then has n times m atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Floats = NDArray[np.floating[Any]]
DRAWS = 500
"""Pairs of draws for the interval of a summary."""
TAIL = 0.025


class Atoms(NamedTuple):
    """The bootstrap distribution of a log ratio: distinct values, sorted, and the weight up to the middle of each."""

    values: Floats
    middles: Floats

    def at(self, share: Floats) -> Floats:
        """Give quantiles by interpolation between middles, which treats both tails alike."""
        found: Floats = np.interp(share, self.middles, self.values)
        return found


class SpeedUp(NamedTuple):
    """How many times as fast, with its 95 % interval; none of a single repetition."""

    ratio: float
    low: float | None
    high: float | None


def atoms(a: Sequence[float], b: Sequence[float]) -> Atoms:
    """Make the distribution of log(median of b / median of a)."""
    x, y = np.log(np.sort(a)), np.log(np.sort(b))
    values, place = np.unique((y[:, None] - x[None, :]).ravel(), return_inverse=True)
    weights = np.bincount(place, np.outer(_weights(len(y)), _weights(len(x))).ravel())
    return Atoms(values, np.cumsum(weights) - weights / 2)


def middle(rates: Sequence[float]) -> float:
    """Log of the median rate; of an even number, the geometric mean of the two in the middle."""
    return float(np.median(np.log(rates)))


def speed_up(a: Sequence[float], b: Sequence[float]) -> SpeedUp:
    """Compare rates of one stressor on two machines; both above 0."""
    ratio = float(np.exp(middle(b) - middle(a)))
    if min(len(a), len(b)) < 2:
        return SpeedUp(ratio, None, None)
    low, high = np.exp(atoms(a, b).at(np.array((TAIL, 1 - TAIL))))
    return SpeedUp(ratio, float(low), float(high))


def draws(all_atoms: Sequence[Atoms], seed: int = 1) -> Floats:
    """Draw log ratios, a row a draw and a column a stressor; each with its mirror image, so that B/A mirrors A/B."""
    shares = np.random.default_rng(seed).random((DRAWS, len(all_atoms)))
    both = np.concatenate((shares, 1 - shares))
    return np.column_stack([one.at(both[:, at]) for at, one in enumerate(all_atoms)])


@cache
def _weights(runs: int) -> Floats:
    """Weight of each order statistic in the median of a resample (Maritz and Jarrett)."""
    edges = np.arange(runs + 1) / runs
    found: Floats = np.diff(beta.cdf(edges, (runs + 1) / 2, (runs + 1) / 2))
    return found
