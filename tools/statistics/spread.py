"""How widely the runs scatter, and how well that is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...knowledge.errors import VgoError
from .values import FiniteResult, finite, number, sorted_quantile


class ArmSummary(FiniteResult):
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


def summarise(values: ArrayLike) -> ArmSummary:
    """Summarise the finite values; their order does not matter, to the last bit."""
    given = np.asarray(values, dtype=np.float64).ravel()
    x = np.sort(finite(given))
    if not x.size:
        raise VgoError("There is no finite outcome to summarise: check the metric and that the program succeeds.")
    mean = float(x.mean())
    sd = number(x.std(ddof=1)) if x.size > 1 else None
    p5, p25, median, p75, p95, p99 = (float(sorted_quantile(x, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99))
    return ArmSummary(
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
