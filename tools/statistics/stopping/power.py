"""How many pairs of runs show a given fall of the spread."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..spread import kurtosis
from ..values import FloatArray, finite

MOST_KURTOSIS = 20.0
"""A few spikes can give any sample kurtosis; beyond this the cap in runs decides anyway."""
EFFICIENCY = 0.55
"""Of the two tests of `comparison`, Holm paid, against the ideal one: set so that a normal law gets its power."""


def pairs_needed(
    values: ArrayLike,
    ratio: float = 0.66,
    alpha: float = 0.05,
    power: float = 0.8,
    least: int = 30,
    most: int = 400,
) -> int:
    """Say how many pairs show a ratio of SDs, from the kurtosis of the baseline.

    The variance of log SD is about (kurtosis - 1) / (4 n) in each arm, so n = (z_alpha/2 + z_power)^2 (kurtosis - 1)
    / 2 / ln^2 ratio (7.85 for .05 and .8), here divided by the efficiency of the test in use. It holds for a pure
    change of scale; a mitigation that makes slow runs rarer needs up to three times as many (simulated).
    """
    if ratio <= 0 or ratio == 1:
        raise ValueError(f"a ratio of {ratio} cannot be shown by any number of runs")
    shape = kurtosis(_winsorised(finite(values)))
    if shape is None:
        return least
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    n = z * z * (min(shape, MOST_KURTOSIS) - 1) / 2 / math.log(ratio) ** 2 / EFFICIENCY
    return int(min(max(math.ceil(n), least), most))


def _winsorised(x: FloatArray) -> FloatArray:
    """Pull in what lies beyond the 1 % and 99 % quantiles: a single wild run must not set the plan."""
    return np.clip(x, *np.quantile(x, (0.01, 0.99))) if x.size else x
