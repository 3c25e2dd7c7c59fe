"""Statistics of many resamples at once: an arm is sorted once, a resample only says how often each run counts.

Sorting every resample would cost n log n each; counts over sorted values need one running sum.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..values import BoolArray, FloatArray, IntArray

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
