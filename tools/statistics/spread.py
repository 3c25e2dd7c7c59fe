"""How widely the runs scatter, and how well that is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ...knowledge.errors import VgoError
from .values import FloatArray, Interval, Result, finite, number, sorted_quantile


class Summary(Result):
    """One arm in numbers, in the unit of the outcome; quantiles are interpolated linearly."""

    n: int
    dropped: int
    """Values that were not finite."""
    mean: float
    median: float
    sd: float | None
    """With n - 1; None for a single run."""
    cv: float | None
    """SD / |mean|; None where the mean is zero."""
    mad: float
    """Median absolute deviation about the median, not scaled to the SD of a normal law."""
    iqr: float
    p5: float
    p95: float
    p99: float
    minimum: float
    maximum: float


def summarise(values: ArrayLike) -> Summary:
    """Summarise the finite values; their order does not matter, to the last bit."""
    given = np.asarray(values, dtype=np.float64).ravel()
    x = np.sort(finite(given))
    if not x.size:
        raise VgoError("There is no finite outcome to summarise: check the metric and that the program succeeds.")
    mean = float(x.mean())
    sd = number(x.std(ddof=1)) if x.size > 1 else None
    p5, p25, median, p75, p95, p99 = (float(sorted_quantile(x, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99))
    return Summary(
        n=x.size,
        dropped=given.size - x.size,
        mean=mean,
        median=median,
        sd=sd,
        cv=number(sd / abs(mean)) if sd is not None and mean else None,
        mad=float(np.median(np.abs(x - median))),
        iqr=p75 - p25,
        p5=p5,
        p95=p95,
        p99=p99,
        minimum=float(x[0]),
        maximum=float(x[-1]),
    )


def kurtosis(values: FloatArray) -> float | None:
    """Fourth moment about a trimmed mean over the squared variance (3 for a normal law); None without spread.

    The trimmed centre (1 / (2 sqrt(n - 4)) from each end) lessens the bias under skew: Bonett 2006,
    "Approximate confidence interval for standard deviation of nonnormal distributions".
    """
    x = np.sort(values)
    n = x.size
    if n < 5 or x[0] == x[-1]:
        return None
    x = (x - x[n // 2]) / (x[-1] - x[0])
    cut = int(n / (2 * math.sqrt(n - 4)))
    centre = x[cut : n - cut].mean() if 2 * cut < n else np.median(x)
    return float(n * ((x - centre) ** 4).sum() / ((x - x.mean()) ** 2).sum() ** 2)


def log_sd_interval(values: ArrayLike, level: float = 0.95) -> Interval | None:
    """Bound the SD, in the unit of the values, by an interval made on its log; None with fewer than five or no spread.

    Bonett 2006: log s2 + log c -+ z c sqrt((kurtosis - (n - 3) / n) / (n - 1)) with c = n / (n - z). It is
    approximate: under rare spikes the sample has too little kurtosis in it and the interval is too short.
    """
    x = finite(values)
    shape = kurtosis(x)
    if shape is None:
        return None
    n = x.size
    z = float(ndtri(0.5 + level / 2))
    c = n / (n - z)
    half = z * c * math.sqrt(max(shape - (n - 3) / n, 0.0) / (n - 1))
    sd = float(x.std(ddof=1))
    return Interval(low=sd * math.exp((math.log(c) - half) / 2), high=sd * math.exp((math.log(c) + half) / 2))
