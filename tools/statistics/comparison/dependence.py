"""How many neighbouring runs belong together: blocks for resampling and for permuting runs that are not independent."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata

from ..dependence import autocorrelation
from ..values import FloatArray

DEPENDENT_Z = 2.0
"""Rank correlation of neighbours times sqrt(n) above which runs count as dependent."""
DECORRELATION = 3
"""Blocks are at least so many decorrelation times long."""
MOST_LAG1 = 0.95
LEAST_BLOCKS = 8
"""In an arm: fewer leave too few permutations for any claim; of 6 blocks no p-value is below .03."""
FEWEST = 20
"""Runs below which no dependence can be seen."""


def block_length(*series: FloatArray) -> int:
    """Return the longest block that any of the series, each in run order, needs; 1 where all look independent.

    Asked of ranks, so that one wild run neither hides dependence nor makes it.
    """
    return max((_block(x) for x in series), default=1)


def _block(x: FloatArray) -> int:
    n = x.size
    if n < FEWEST or x.min() == x.max():
        return 1
    correlation = autocorrelation(rankdata(x))
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
