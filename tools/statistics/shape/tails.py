"""Tails and outliers: what lies far from the bulk of the runs. Outliers are named, never dropped."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri, stdtrit

from ..values import FiniteResult, FloatArray, sorted_quantile

TAIL_RATIO = 1.183
"""Mean distance of the upper half from the median over the median absolute deviation, for a normal law."""
TAIL_EXCESS = 2.4
"""Above it by this over sqrt(half the runs) is a heavy tail: 1 to 2 of 100 normal samples of 60 runs get there."""
LEAST_EXCESS = 0.1
"""And by this at least: of a million runs the slightest departure is plain."""
LEAST_RUNS = 20
FENCE = 1.5
"""Interquartile ranges beyond a quartile (Tukey 1977); of a normal law 0.35 % lie beyond it on each side."""
LEAST_SCORE = 3.5
"""Of the modified z score of Iglewicz and Hoaglin (1993)."""
FALSE_RATE = 0.01
"""Share of normal samples with an outlier, nominal: the bar rises with the number of runs. Found, of 100 to 300
samples: .10, .08 and .01 of 30, 100 and 1000 normal runs; .18 and .04 of 100 and 1000 lognormal(.5) runs, where the
plain modified z score names some in .91 and 1.0, and the adjusted boxplot in .88 and 1.0."""
MOST_SHOWN = 20
RULE = "robust z score above {bar:.2f} after the logarithm that makes p10, the median and p90 symmetrical"


class Outliers(FiniteResult):
    """Runs beyond the reach of a shifted lognormal law that fits the bulk."""

    count: int
    rule: str
    low: float | None
    """Runs below it are outliers; None where there is no such bound."""
    high: float | None
    places: tuple[int, ...]
    """Indices of the first 20, from 0, in the order given."""
    values: tuple[float, ...]


def heavy(x: FloatArray) -> bool:
    """Say whether the upper half of sorted values reaches further than that of a normal law of the same MAD."""
    if x.size < LEAST_RUNS:
        return False
    away = x - np.median(x)
    reach, middle = float(away[(x.size + 1) // 2 :].mean()), float(np.median(np.abs(away)))
    if middle == 0:
        return reach > 0
    return reach / middle > TAIL_RATIO + max(TAIL_EXCESS / math.sqrt(x.size / 2), LEAST_EXCESS)


def weight(x: FloatArray) -> float:
    """Share of sorted values above p75 by more than 1.5 interquartile ranges."""
    if not x.size:
        return 0.0
    low, high = float(sorted_quantile(x, 0.25)), float(sorted_quantile(x, 0.75))
    return float((x > high + FENCE * (high - low)).mean())


def outliers(values: FloatArray, ascending: FloatArray, valleys: list[float]) -> Outliers:
    """Find them among values in run order: below what the lowest mode reaches, above what the highest reaches."""
    parts = np.split(ascending, np.searchsorted(ascending, valleys))
    # As if the scale came from a fifth of the runs: quantiles of few runs are rough.
    bar = max(LEAST_SCORE, float(-stdtrit(max(values.size, 1) / 5, FALSE_RATE / 2 / max(values.size, 1))))
    high, low = _reach(parts[-1], bar), _reach(-parts[0][::-1], bar)
    beyond = np.zeros(values.size, dtype=np.bool_)
    if high is not None:
        beyond |= values > high
    if low is not None:
        beyond |= values < -low
    found = np.flatnonzero(beyond)
    shown = found[:MOST_SHOWN]
    return Outliers(
        count=found.size,
        rule=RULE.format(bar=bar),
        low=None if low is None else -low,
        high=high,
        places=tuple(shown.tolist()),
        values=tuple(values[shown].tolist()),
    )


def _reach(x: FloatArray, bar: float) -> float | None:
    """Upper bound: `bar` robust SDs above the median of log(x - shift), on the scale of x.

    With u = p90 - p50 and d = p50 - p10, ratio q = u / d, the shifted lognormal law through the three quantiles has
    x(z) = p50 + u (q^(z / z90) - 1) / (q - 1); none of the three minds what lies beyond it.
    """
    if x.size < LEAST_RUNS:
        return None
    low, middle, high = (float(sorted_quantile(x, share)) for share in (0.1, 0.5, 0.9))
    up, down = high - middle, middle - low
    if up <= 0 or down <= 0:
        return None
    z90 = float(ndtri(0.9))
    q = up / down
    if abs(math.log(q)) < 1e-6:
        return middle + bar / z90 * up
    exponent = bar / z90 * math.log(q)
    reach = middle + up * math.expm1(exponent) / (q - 1) if exponent < 700 else math.inf
    return reach if math.isfinite(reach) else None
