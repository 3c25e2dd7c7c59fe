"""How many independent runs dependent runs are worth."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import rankdata

from .values import FloatArray

GATE = 1.645
"""Lag-1 rank correlation, in standard errors, below which runs count as independent (one-sided 5 %)."""


class Inflation(NamedTuple):
    """How many dependent runs say as much as one independent one; 1 where they are independent."""

    mean: float
    square: float
    """Of the mean squared deviation, so of the SD."""
    lag1: float
    """Rank correlation of neighbours; 0 where nothing varies."""


def inflation(values: FloatArray, ordered: bool = True) -> Inflation:
    """Measure, from runs in run order, how much their dependence inflates variances.

    Only when neighbours resemble each other (`GATE`): a correction that is always estimated would cost independent
    runs accuracy. Then the greater of Geyer's initial monotone sequence (1992, "Practical Markov chain Monte Carlo")
    and of what the lag-1 correlation alone gives under AR(1): (1 + r) / (1 - r) for the mean and, since squares of a
    normal AR(1) correlate by r^2, (1 + r^2) / (1 - r^2) for the square. r is mended for its bias, -(1 + 3 r) / n.
    Not `ordered`: the order means nothing, and runs count as independent.
    """
    n = values.size
    if not ordered or n < 10 or values.min() == values.max():
        return Inflation(1.0, 1.0, 0.0)
    lag1 = float(autocorrelation(rankdata(values))[1])
    if lag1 < GATE / math.sqrt(n):
        return Inflation(1.0, 1.0, lag1)
    of_mean, of_square = (autocorrelation(part) for part in (values, (values - values.mean()) ** 2))
    r = min(max((n * max(float(of_mean[1]), lag1) + 1) / (n - 3), 0.0), 0.98)
    return Inflation(
        max(1.0, _summed(of_mean), (1 + r) / (1 - r)),
        max(1.0, _summed(of_square), (1 + r * r) / (1 - r * r)),
        lag1,
    )


def autocorrelation(values: FloatArray) -> FloatArray:
    """Correlate a series with itself at every lag, shape (n,), by FFT; zeros where nothing varies."""
    n = values.size
    centred = values - values.mean()
    scale = float(np.abs(centred).max(initial=0.0))
    if scale == 0:
        return np.zeros(n)
    length = next_fast_len(2 * n, real=True)
    spectrum = rfft(centred / scale, length)
    covariance: FloatArray = irfft(np.abs(spectrum) ** 2, length)[:n]
    return np.asarray(covariance / covariance[0])


def _summed(correlation: FloatArray) -> float:
    """Add 1 + 2 (r1 + r2 + ...) in pairs of lags while they are positive, no pair greater than the one before."""
    even = correlation.size // 2 * 2
    pairs = correlation[:even].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = pairs[: negative[0]] if negative.size else pairs
    return float(2 * np.minimum.accumulate(kept).sum() - 1) if kept.size else 1.0
