"""Permutation tests of two paired arms: swap within pairs. Valid where F and Bartlett fail (simulated in its tests)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..values import FloatArray, Result, sorted_quantile

SpreadName = Literal["log mean absolute deviation", "log p95-p05"]
SPREADS: tuple[SpreadName, ...] = ("log mean absolute deviation", "log p95-p05")
"""The two declared statistics: the first sees scale, the second how often the tail is visited."""
CHUNK = 4_000_000
LEAST_SCALE = 1e-9
"""Floor of a spread, as a share of the larger of the two, so that its log exists."""


class SpreadTest(Result):
    """One statistic of spread, mitigated against baseline."""

    statistic: SpreadName
    log_ratio: float
    """Below 0: the mitigated arm scatters less; 0 where neither scatters."""
    p_value: float
    adjusted: float
    """By Holm, over the declared statistics."""


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values so that the chance of any false claim among them is kept (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    result = np.empty(p.size)
    result[order] = adjusted
    return tuple(result.tolist())


def spread_tests(baseline: FloatArray, mitigated: FloatArray, seed: int, permutations: int) -> tuple[SpreadTest, ...]:
    """Centre each arm on its median, swap within pairs, and compare both statistics on both sides."""
    x, y = baseline - np.median(baseline), mitigated - np.median(mitigated)
    largest = float(max(np.abs(x).max(), np.abs(y).max()))
    if largest == 0:
        return tuple(SpreadTest(statistic=name, log_ratio=0.0, p_value=1.0, adjusted=1.0) for name in SPREADS)
    x, y = x / largest, y / largest
    observed = _log_ratios(x[None, :], y[None, :])[:, 0]
    rng = np.random.default_rng(seed)
    beaten = np.zeros(len(SPREADS))
    for rows in _chunks(x.size, permutations):
        swap = rng.random((rows, x.size)) < 0.5
        permuted = _log_ratios(np.where(swap, y, x), np.where(swap, x, y))
        beaten += (np.abs(permuted) >= np.abs(observed)[:, None] - 1e-9).sum(axis=1)
    p_values = ((1 + beaten) / (1 + permutations)).tolist()
    return tuple(
        SpreadTest(statistic=name, log_ratio=float(ratio), p_value=p, adjusted=adjusted)
        for name, ratio, p, adjusted in zip(SPREADS, observed, p_values, holm(p_values), strict=True)
    )


def location_test(baseline: FloatArray, mitigated: FloatArray, seed: int, permutations: int) -> float:
    """Two-sided p-value of the mean difference within pairs, by changing signs."""
    difference = mitigated - baseline
    largest = float(np.abs(difference).max())
    if largest == 0:
        return 1.0
    difference = difference / largest
    observed = abs(float(difference.sum()))
    rng = np.random.default_rng(seed)
    beaten = 0
    for rows in _chunks(difference.size, permutations):
        signs = np.where(rng.random((rows, difference.size)) < 0.5, -1.0, 1.0)
        beaten += int((np.abs(signs @ difference) >= observed - 1e-9).sum())
    return (1 + beaten) / (1 + permutations)


def _log_ratios(x: FloatArray, y: FloatArray) -> FloatArray:
    """Log of mitigated over baseline spread, one row a statistic."""
    return np.stack([_log_ratio(a, b) for a, b in zip(_spreads(x), _spreads(y), strict=True)])


def _log_ratio(before: FloatArray, after: FloatArray) -> FloatArray:
    floor = np.maximum(LEAST_SCALE * np.maximum(before, after), 1e-300)
    ratio: FloatArray = np.log(np.maximum(after, floor)) - np.log(np.maximum(before, floor))
    return ratio


def _spreads(samples: FloatArray) -> tuple[FloatArray, FloatArray]:
    rows = np.sort(samples, axis=1)
    deviation = np.abs(rows - sorted_quantile(rows, 0.5)[:, None]).mean(axis=1)
    return deviation, sorted_quantile(rows, 0.95) - sorted_quantile(rows, 0.05)


def _chunks(n: int, permutations: int) -> list[int]:
    step = max(1, CHUNK // n)
    return [min(step, permutations - start) for start in range(0, permutations, step)]
