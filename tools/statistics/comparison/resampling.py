"""Which runs a resample takes, how long blocks of neighbours are, and statistics of many resamples at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..spread import autocorrelation
from ..values import BoolArray, FloatArray, IntArray, ranks_of

Statistic = Literal[
    "mean", "median", "sd", "cv", "mad", "iqr", "p95-p05", "p90", "p95", "p99", "p10", "p5", "p1", "range"
]
Key = Statistic | float
"""A statistic by name, or a quantile by its share."""
Counts = NDArray[np.integer[Any]]
"""How often each run is taken, or running sums of that; narrow integers take less time."""
BAD_TAIL: dict[bool, tuple[Statistic, ...]] = {True: ("p90", "p95", "p99"), False: ("p10", "p5", "p1")}
"""The quantiles that hurt, by whether lower is better: slow runs are high times and low throughputs."""
CHUNK = 100_000
"""Counts held at a time: they stay in the cache of one core."""
MOST_DRAWS = 40_000_000
"""Runs drawn in all for one arm; arms beyond 20,000 runs get fewer resamples."""
LEAST_RESAMPLES = 200
SHARES = tuple(k / 20 for k in range(1, 20))
"""The quantiles whose shift is told: p5, p10, ..., p95."""
Rows = Mapping[Key, FloatArray]
DEPENDENT_Z = 2.0
"""Rank correlation of neighbours times sqrt(n) above which runs count as dependent."""
DECORRELATION = 3
"""Blocks are at least so many decorrelation times long."""
MOST_LAG1 = 0.95
LEAST_BLOCKS = 8
"""In an arm: fewer leave too few permutations for any claim; of 6 blocks no p-value is below .03."""
FEWEST_DEPENDENT = 20
"""Runs below which no dependence can be seen."""


def standardised(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Shift and scale values, so that sums of squares keep their digits; return also centre and scale."""
    centre = float(np.median(values))
    scale = float(np.abs(values - centre).max()) or 1.0
    return (values - centre) / scale, centre, scale


class Counted:
    """How often each of the sorted values is taken, one row a resample; every row takes as many values in all."""

    def __init__(self, ascending: FloatArray, running: Counts) -> None:
        """Take sorted values, shape (n,), and the running sum of their counts over all rows, shape (rows * n,).

        Row r begins at r times the values of a row, so that a single search serves every row.
        """
        self.ascending = ascending
        self.running = running
        self.rows = running.size // ascending.size
        self.total = int(running[-1]) // self.rows

    def place(self, k: int | IntArray) -> IntArray:
        """Index of the k-th smallest taken value of each row, k from 1."""
        row = np.arange(self.rows)
        wanted = (row * self.total + k).astype(self.running.dtype)
        found: IntArray = np.searchsorted(self.running, wanted) - row * self.ascending.size
        return found

    def quantile(self, share: float) -> FloatArray:
        """Interpolate a quantile of each row, as numpy's default does."""
        at = share * (self.total - 1)
        below = int(at)
        low = self.taken(below + 1)
        if at == below:
            return low
        quantile: FloatArray = low + (self.taken(below + 2) - low) * (at - below)
        return quantile

    def moments(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and SD (with n - 1) of each row; no spread at all where all taken values are equal."""
        z, centre, scale = standardised(self.ascending)
        first, second = (counts.astype(np.float64) @ np.column_stack((z, z**2))).T
        n = self.total
        variance = np.maximum(second - first**2 / n, 0) / (n - 1) if n > 1 else np.full(self.rows, np.nan)
        return centre + scale * first / n, scale * np.where(self.equal(), 0.0, np.sqrt(variance))

    def deviation(self, sums: FloatArray) -> FloatArray:
        """Mean absolute deviation from the median of each row; `sums[r, i]` is the sum of values taken up to i."""
        middle, n = self.quantile(0.5), self.total
        row, last = np.arange(self.rows), self.place((n + 1) // 2)
        taken = self.running.reshape(self.rows, -1)[row, last] - row * n
        lower = sums[row, last]
        outer = middle * taken - lower + sums[:, -1] - lower - middle * (n - taken)
        deviation: FloatArray = np.where(self.equal(), 0.0, np.maximum(outer, 0) / n)
        return deviation

    def mad(self) -> FloatArray:
        """Median absolute deviation from the median of each row."""
        middle, half = self.quantile(0.5), (self.total + 1) // 2
        nearest = self._distance(middle, half)
        return nearest if self.total % 2 else (nearest + self._distance(middle, half + 1)) / 2

    def equal(self) -> BoolArray:
        """Which rows take one value only: they must have no spread at all, whatever rounding says."""
        equal: BoolArray = self.taken(1) == self.taken(self.total)
        return equal

    def _distance(self, middle: FloatArray, k: int) -> FloatArray:
        """k-th smallest distance from the middle of each row.

        The k nearest are neighbours in order, from i + 1 to i + k: seek the first i whose right end is the farther.
        """
        low, high = np.zeros(self.rows, dtype=np.int64), np.full(self.rows, self.total - k)
        while (low < high).any():
            i = (low + high) // 2
            right = self.taken(i + k) - middle >= middle - self.taken(i + 1)
            low, high = np.where(right | (low == high), low, i + 1), np.where(right, i, high)
        outer = np.maximum(self.taken(low + k) - middle, middle - self.taken(low + 1))
        # One place earlier the left end is the farther, and may still be nearer than this.
        earlier = middle - self.taken(np.maximum(low, 1))
        return np.maximum(np.where(low > 0, np.minimum(outer, earlier), outer), 0.0)

    def taken(self, k: int | IntArray) -> FloatArray:
        """Value of the k-th smallest of each row, k from 1."""
        return self.ascending[self.place(k)]


def statistics(arm: Counted, counts: Counts, lower_is_better: bool) -> dict[Key, FloatArray]:
    """Every statistic of each row; `counts` are those whose running sum the arm holds, shape (rows, n)."""
    mean, sd = arm.moments(counts)
    found: dict[Key, FloatArray] = {
        "mean": mean,
        "median": arm.quantile(0.5),
        "sd": sd,
        "cv": np.divide(sd, np.abs(mean), out=np.full(sd.shape, np.nan), where=mean != 0),
        "mad": arm.mad(),
        "iqr": arm.quantile(0.75) - arm.quantile(0.25),
        "p95-p05": arm.quantile(0.95) - arm.quantile(0.05),
    }
    for name in BAD_TAIL[lower_is_better]:
        found[name] = arm.quantile(int(name[1:]) / 100)
    found["range"] = arm.taken(arm.total) - arm.taken(1)
    return found


@dataclass(frozen=True)
class SortedArm:
    """One arm: its runs in run order and where each stands when sorted."""

    values: FloatArray
    order: IntArray
    ascending: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> SortedArm:
        """Sort once."""
        order = np.argsort(values, kind="stable")
        return cls(values, order, values[order])

    def resampled(self, counts: Counts, lower_is_better: bool) -> Rows:
        """Every statistic by name, and the quantiles of `SHARES` by share, of each row of counts in run order."""
        counts = counts[:, self.order]
        arm = Counted(self.ascending, np.cumsum(counts, axis=None, dtype=np.int32))
        return statistics(arm, counts, lower_is_better) | {share: arm.quantile(share) for share in SHARES}


def affordable(n: int, resamples: int) -> int:
    """Lessen the resamples of very long arms."""
    return min(resamples, max(LEAST_RESAMPLES, MOST_DRAWS // n))


def draw(rng: Generator, n: int, rows: int, block: int, whole: int = 1) -> Counts:
    """Draw with replacement: counts of each run, in run order, shape (rows, n).

    Blocks are circular (Politis and Romano 1992), so that every run is taken equally often; they start where a group
    of `whole` values does, which divides both n and the block.
    """
    if block == 1:
        index = rng.integers(n, size=(rows, n), dtype=np.int32).astype(np.int64)
    else:
        starts = whole * rng.integers(n // whole, size=(rows, -(-n // block), 1))
        index = ((starts + np.arange(block)) % n).reshape(rows, -1)[:, :n]
    index += n * np.arange(rows)[:, None]
    return np.bincount(index.ravel(), minlength=rows * n).astype(np.int32).reshape(rows, n)


def chunks(n: int, rows: int) -> list[int]:
    """Split rows of n values into chunks that fit the cache."""
    step = max(1, CHUNK // n)
    return [min(step, rows - start) for start in range(0, rows, step)]


def block_length(*series: FloatArray) -> int:
    """Return the longest block that any of the series, each in run order, needs; 1 where all look independent.

    Asked of ranks, so that one wild run neither hides dependence nor makes it.
    """
    return max((_block(x) for x in series), default=1)


def _block(x: FloatArray) -> int:
    n = x.size
    if n < FEWEST_DEPENDENT or x.min() == x.max():
        return 1
    correlation = autocorrelation(ranks_of(x))
    r = float(correlation[1])
    if r * math.sqrt(n) < DEPENDENT_Z:
        return 1
    # Politis and White aim at the variance of a mean; a test keeps its level only with longer blocks, and in few runs
    # their rule is blind to weak dependence: so, at least three times the decorrelation time of an autoregression.
    decorrelation = math.ceil(DECORRELATION * (1 + r) / (1 - min(r, MOST_LAG1)))
    return max(1, min(max(politis_white(correlation), decorrelation), n // LEAST_BLOCKS))


def politis_white(correlation: FloatArray) -> int:
    """Choose the block of a circular bootstrap from the autocorrelation at every lag, shape (n,).

    Politis and White 2004, "Automatic block-length selection for the dependent bootstrap", with the correction of
    Patton, Politis and White 2009.
    """
    n = correlation.size
    flat = max(5, math.ceil(math.sqrt(math.log10(n))))
    lags = min(math.ceil(math.sqrt(n)) + flat, n - 1)
    small = np.abs(correlation[1 : lags + 1]) < 2 * math.sqrt(math.log10(n) / n)
    # The first lag after which `flat` correlations in a row are small.
    calm = [m for m in range(lags - flat + 1) if small[m : m + flat].all()]
    loud = calm[0] if calm else int(np.flatnonzero(~small)[-1]) + 1
    width = min(max(2 * loud, 1), lags)
    k = np.arange(-width, width + 1)
    weighted = np.minimum(1.0, 2 * (1 - np.abs(k) / width)) * correlation[np.abs(k)]
    level = 4 / 3 * float(weighted.sum()) ** 2
    if level == 0:
        return 1
    best = (2 * float((weighted * np.abs(k)).sum()) ** 2 / level) ** (1 / 3) * n ** (1 / 3)
    return int(min(max(1, math.ceil(best)), math.ceil(min(3 * math.sqrt(n), n / 3))))
