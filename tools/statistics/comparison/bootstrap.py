"""Ratios of two paired arms, each with a bootstrap interval (BCa, resampling pairs)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from ..values import FloatArray, IntArray, Result, number, sorted_quantile

Statistic = Literal["mean", "median", "sd", "cv", "mad", "iqr", "p95", "p99", "range"]
CHUNK = 4_000_000
"""Values resampled at a time: bounds the memory."""
MOST_GROUPS = 200
"""Groups of pairs left out in turn by the jackknife."""
LEAST_PAIRS: dict[Statistic, int] = {"p95": 40, "p99": 200}
"""An interval needs two runs beyond the quantile, or it covers the truth far less often than it says."""
FEWEST_PAIRS = 5
UNDEFINED_SHARE = 0.1
"""With more undefined resamples than this there is no interval."""


class Ratio(Result):
    """Mitigated over baseline: below 1 is less."""

    statistic: Statistic
    baseline: float | None
    mitigated: float | None
    value: float | None
    """None where the baseline has none of it, or where a sign makes a ratio meaningless."""
    low: float | None
    """95 % interval, approximate: under rare spikes it is too short. None for the range: no bootstrap holds for it."""
    high: float | None


def ratios(baseline: FloatArray, mitigated: FloatArray, seed: int, resamples: int) -> tuple[Ratio, ...]:
    """All ratios from the same resamples of pairs, so that what a pair shares cancels."""
    n = baseline.size
    arms = (_statistics(baseline[None, :]), _statistics(mitigated[None, :]))
    boot = jack = None
    if n >= FEWEST_PAIRS:
        rng = np.random.default_rng(seed)
        boot = _resampled(baseline, mitigated, [rng.integers(n, size=(k, n)) for k in _chunks(n, resamples)])
        jack = _resampled(baseline, mitigated, [_left_out(n)])
    found = []
    for name, before in arms[0].items():
        value = _ratio(before, arms[1][name])[0]
        low = high = None
        if boot and jack and name != "range" and n >= LEAST_PAIRS.get(name, FEWEST_PAIRS):
            low, high = interval(value, boot[name], jack[name])
        found.append(
            Ratio(
                statistic=name,
                baseline=number(before[0]),
                mitigated=number(arms[1][name][0]),
                value=number(value),
                low=low,
                high=high,
            )
        )
    return tuple(found)


def interval(
    value: float, boot: FloatArray, jack: FloatArray, level: float = 0.95
) -> tuple[float | None, float | None]:
    """BCa on the log of the ratio (Efron 1987); plain percentiles where some ratio is zero."""
    drawn = boot.size
    boot, jack = boot[np.isfinite(boot)], jack[np.isfinite(jack)]
    if not np.isfinite(value) or boot.size < (1 - UNDEFINED_SHARE) * drawn:
        return None, None
    tail = np.array([(1 - level) / 2, (1 + level) / 2])
    if value > 0 and boot.min() > 0 and jack.size and jack.min() > 0:
        tail = _adjusted(tail, value, boot, np.log(jack))
    low, high = np.quantile(boot, tail)
    return float(low), float(high)


def _adjusted(tail: FloatArray, value: float, boot: FloatArray, log_jack: FloatArray) -> FloatArray:
    """Shift the two levels for bias and for a spread that changes with the value."""
    # What rounding makes of equal ratios counts as equal, half to each side.
    near = np.abs(boot - value) <= 1e-12 * value
    below = float(((boot < value) & ~near).mean() + near.mean() / 2)
    if not 0 < below < 1:
        return tail
    bias = ndtri(below)
    d = log_jack.mean() - log_jack
    squares = float((d**2).sum())
    pull = float((d**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    z = bias + ndtri(tail)
    adjusted: FloatArray = ndtr(bias + z / (1 - pull * z))
    return np.sort(adjusted)


def _chunks(n: int, resamples: int) -> list[int]:
    step = max(1, CHUNK // n)
    return [min(step, resamples - start) for start in range(0, resamples, step)]


def _left_out(n: int) -> IntArray:
    """Index of the pairs that stay when each of up to 200 equal groups is left out."""
    size = -(-n // MOST_GROUPS)
    starts = np.arange(n // size) * size
    kept = np.arange(n - size)
    rows: IntArray = kept[None, :] + size * (kept[None, :] >= starts[:, None])
    return rows


def _resampled(x: FloatArray, y: FloatArray, rows: list[IntArray]) -> dict[Statistic, FloatArray]:
    parts = [(_statistics(x[index]), _statistics(y[index])) for index in rows]
    return {name: np.concatenate([_ratio(a[name], b[name]) for a, b in parts]) for name in parts[0][0]}


def _ratio(before: FloatArray, after: FloatArray) -> FloatArray:
    """Divide where the baseline is positive and the other not negative; NaN elsewhere."""
    sound = (before > 0) & (after >= 0)
    ratio: FloatArray = np.divide(after, before, out=np.full(before.shape, np.nan), where=sound)
    return ratio


def _statistics(samples: FloatArray) -> dict[Statistic, FloatArray]:
    """Each statistic of each row."""
    rows = np.sort(samples, axis=1)
    mean, median = rows.mean(axis=1), sorted_quantile(rows, 0.5)
    n = rows.shape[1]
    sd = rows.std(axis=1, ddof=1) if n > 1 else np.full(rows.shape[0], np.nan)
    # Equal values must have no spread at all, whatever rounding does to their mean.
    sd = np.where(rows[:, 0] == rows[:, -1], 0.0, sd)
    return {
        "mean": mean,
        "median": median,
        "sd": sd,
        "cv": np.divide(sd, np.abs(mean), out=np.full(sd.shape, np.nan), where=mean != 0),
        "mad": np.median(np.abs(rows - median[:, None]), axis=1),
        "iqr": sorted_quantile(rows, 0.75) - sorted_quantile(rows, 0.25),
        "p95": sorted_quantile(rows, 0.95),
        "p99": sorted_quantile(rows, 0.99),
        "range": rows[:, -1] - rows[:, 0],
    }
