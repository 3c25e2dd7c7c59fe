"""Permutation tests of two arms, valid where F and Bartlett fail: what would differ if the arms were one program?

Pairs: arms are swapped within pairs. No pairs: runs change arms. Where neighbours depend on each other, whole blocks
of them are swapped or change arms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from ..values import BoolArray, FloatArray, Result
from .resampling import affordable, chunks
from .weighted import Counted

SpreadName = Literal["log mean absolute deviation", "log p95-p05"]
SPREADS: tuple[SpreadName, ...] = ("log mean absolute deviation", "log p95-p05")
"""The two declared statistics: the first sees scale, the second how often the tail is visited."""
LEAST_SCALE = 1e-9
"""Floor of a spread, as a share of the larger of the two, so that its log exists."""


class SpreadTest(Result):
    """One statistic of spread, the other arm against the baseline."""

    statistic: SpreadName
    log_ratio: float
    """Below 0: the other arm scatters less; 0 where neither scatters."""
    p_value: float
    adjusted: float
    """By Holm, over the declared statistics."""
    noise: float
    """SD of the log ratio when nothing differs, from the same permutations: what the runs cannot tell from luck."""


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values so that the chance of any false claim among them is kept (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    result = np.empty(p.size)
    result[order] = adjusted
    return tuple(result.tolist())


Statistic = Callable[[BoolArray], FloatArray]
"""From marks of the first arm, shape (rows, runs), to statistics, shape (k, rows)."""


@dataclass(frozen=True)
class Exchange:
    """What may change places when nothing differs."""

    paired: bool
    block: int
    """Neighbouring runs that move together; 1 for single runs."""

    def first(self, rng: Generator, x: int, y: int, permutations: int) -> Iterator[BoolArray]:
        """Mark the values of the joined arms, shape (rows, x + y), that count as the first arm."""
        for rows in chunks(x + y, permutations):
            yield self._swapped(rng, rows, x) if self.paired else self._moved(rng, rows, x, y)

    def _swapped(self, rng: Generator, rows: int, n: int) -> BoolArray:
        stay = rng.integers(2, size=(rows, -(-n // self.block)), dtype=np.uint8).astype(np.bool_)
        stay = np.repeat(stay, self.block, axis=1)[:, :n] if self.block > 1 else stay
        return np.concatenate((stay, ~stay), axis=1)

    def _moved(self, rng: Generator, rows: int, x: int, y: int) -> BoolArray:
        """Whole blocks of equal length change arms; what is left at the end of an arm stays."""
        a, b = x // self.block, y // self.block
        # Drawn for the shorter arm, so that naming the other arm the baseline gives the same p-value.
        few = min(a, b)
        labels = _chosen(rng, rows, a + b, few)
        if a > b:
            labels = ~labels
        if self.block == 1:
            return labels
        marks = np.zeros((rows, x + y), dtype=np.bool_)
        marks[:, :x] = True
        marks[:, : a * self.block] = np.repeat(labels[:, :a], self.block, axis=1)
        marks[:, x : x + b * self.block] = np.repeat(labels[:, a:], self.block, axis=1)
        return marks


def _chosen(rng: Generator, rows: int, n: int, k: int) -> BoolArray:
    """Mark k of n places in each row: those of the k least of n random keys, which is far cheaper than to shuffle."""
    keys = rng.integers(2**32, size=(rows, n), dtype=np.uint32)
    chosen: BoolArray = keys <= np.partition(keys, k - 1, axis=1)[:, k - 1 : k]
    for row in np.flatnonzero(chosen.sum(axis=1) != k):  # two equal keys at the edge, about once in 2**32 / n
        chosen[row] = rng.permutation(n) < k
    return chosen


def permutation_tests(
    baseline: FloatArray, other: FloatArray, exchange: Exchange, seed: int, permutations: int
) -> tuple[tuple[SpreadTest, ...], float]:
    """Test spread, and location (two-sided p-value) by the same exchanges.

    Location: mean differences within pairs, or Welch's t, since dividing by the standard error keeps the level where
    the arms scatter differently (Janssen 1997).
    """
    statistics = _spread_statistic(baseline, other), _location_statistic(baseline, other, exchange)
    observed, null, asked = _permuted(exchange, baseline, other, statistics, seed, permutations)
    return _tests(observed[:2], null[:2], asked), _p_value(observed[2], null[2], asked)


def _tests(observed: FloatArray, null: FloatArray, asked: int) -> tuple[SpreadTest, ...]:
    p_values = [_p_value(o, n, asked) for o, n in zip(observed, null, strict=True)]
    return tuple(
        SpreadTest(statistic=name, log_ratio=float(o), p_value=p, adjusted=a, noise=float(n.std()))
        for name, o, n, p, a in zip(SPREADS, observed, null, p_values, holm(p_values), strict=True)
    )


def _permuted(
    exchange: Exchange,
    baseline: FloatArray,
    other: FloatArray,
    statistics: Sequence[Statistic],
    seed: int,
    permutations: int,
) -> tuple[FloatArray, FloatArray, int]:
    """Return the statistics as observed, shape (k,), and after each exchange, shape (k, rows), and the rows asked."""
    x, joined = baseline.size, baseline.size + other.size
    drawn = exchange.first(np.random.default_rng(seed), x, other.size, affordable(joined, permutations))
    observed = np.concatenate([statistic((np.arange(joined) < x)[None, :]) for statistic in statistics])
    parts = [np.concatenate([statistic(first) for statistic in statistics]) for first in drawn]
    return observed[:, 0], np.concatenate(parts, axis=1), permutations


def _spread_statistic(baseline: FloatArray, other: FloatArray) -> Statistic:
    x, y = baseline - np.median(baseline), other - np.median(other)
    largest = float(max(np.abs(x).max(), np.abs(y).max())) or 1.0
    joined = np.concatenate((x, y)) / largest
    order = np.argsort(joined, kind="stable")
    ascending = joined[order]
    return lambda first: _log_ratios(ascending, first[:, order])


def _location_statistic(baseline: FloatArray, other: FloatArray, exchange: Exchange) -> Statistic:
    largest = float(max(np.abs(baseline).max(), np.abs(other).max())) or 1.0
    # About one middle, so that squares keep their digits.
    joined = (np.concatenate((baseline, other)) - np.median(baseline)) / largest
    statistic = _mean_differences if exchange.paired else _welch
    return lambda first: statistic(joined, first)[None, :]


def _p_value(observed: float, null: FloatArray, permutations: int) -> float:
    """Share of exchanges that differ as much; with fewer than asked for, the normal law that they follow by then."""
    if null.size < permutations and null.std() > 0:
        return float(2 * ndtr(-abs(observed) / math.sqrt(float((null**2).mean()))))
    return float((1 + (np.abs(null) >= abs(observed) - 1e-9).sum()) / (1 + null.size))


def _log_ratios(ascending: FloatArray, first: BoolArray) -> FloatArray:
    """Log of the second arm's spread over the first's, one row a statistic."""
    running = np.cumsum(first, axis=None, dtype=np.int32)
    sums = np.cumsum(np.where(first, ascending, 0.0), axis=1)
    before = _spreads(Counted(ascending, running), sums)
    running = np.arange(1, running.size + 1, dtype=np.int32) - running
    after = _spreads(Counted(ascending, running), np.cumsum(ascending) - sums)
    return np.stack([_log_ratio(a, b) for a, b in zip(before, after, strict=True)])


def _log_ratio(before: FloatArray, after: FloatArray) -> FloatArray:
    floor = np.maximum(LEAST_SCALE * np.maximum(before, after), 1e-300)
    ratio: FloatArray = np.log(np.maximum(after, floor)) - np.log(np.maximum(before, floor))
    return ratio


def _spreads(arm: Counted, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    return arm.deviation(sums), arm.quantile(0.95) - arm.quantile(0.05)


def _mean_differences(joined: FloatArray, first: BoolArray) -> FloatArray:
    half = joined.size // 2
    signs = 1.0 - 2.0 * first[:, :half]
    difference: FloatArray = signs @ (joined[half:] - joined[:half]) / half
    return difference


def _welch(joined: FloatArray, first: BoolArray) -> FloatArray:
    """Welch's t of the second part against the first, for each row."""
    powers = np.column_stack((joined, joined**2))
    sums = first.astype(np.float64) @ powers
    n = int(first[0].sum())
    (m, q), (k, r) = sums.T / n, (powers.sum(axis=0) - sums).T / (joined.size - n)
    error = np.sqrt(np.maximum(q - m**2, 0) / max(n - 1, 1) + np.maximum(r - k**2, 0) / max(joined.size - n - 1, 1))
    t: FloatArray = np.divide(k - m, error, out=np.sign(k - m) * 1e9, where=error > 0)
    return t
