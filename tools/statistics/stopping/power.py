"""How many pairs of runs show a given fall of the spread, soon enough to plan a batch with."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy.special import ndtri

from ....knowledge.errors import VgoError
from ..spread import kurtosis
from ..values import FloatArray, finite
from .power import Kind, simulated_power

EXPERIMENTS, EXCHANGES = 60, 160
"""A point: they leave some 10 % of the number open, and a hundred recorded runs more than that."""
ALPHA, POWER = 0.05, 0.8
LEAST, MOST = 30, 400
FALL: tuple[Kind, ...] = ("scale", "tail")


def pairs_needed(values: ArrayLike, ratio: float = 0.66) -> int:
    """Say how many pairs show a ratio of SDs on runs of this shape, whether runs scatter less or slow ones get rarer.

    Simulated with the test of a claim, and the same on every call. The formula (z_alpha/2 + z_power)^2
    (kurtosis - 1) / 2 / ln^2 ratio is only the start of the search: it is off by half on a bimodal law, whose tails it
    takes for noise. Many values are sorted once; the rest does not grow with their number.
    """
    if ratio <= 0 or ratio == 1:
        raise ValueError(f"a ratio of {ratio} cannot be shown by any number of runs")
    x = finite(values)
    start = formula(x, ratio, ALPHA, POWER)
    if start is None:
        return LEAST
    return min(max(LEAST, *(_needed(x, ratio, kind, start) for kind in FALL)), MOST)


def formula(x: FloatArray, ratio: float, alpha: float, power: float) -> int | None:
    """Runs that the ideal test needs: the variance of log SD is about (kurtosis - 1) / (4 n); None without spread."""
    shape = kurtosis(x)
    if shape is None:
        return None
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return math.ceil(z * z * (shape - 1) / 2 / math.log(ratio) ** 2)


def _needed(x: FloatArray, ratio: float, kind: Kind, start: int) -> int:
    try:
        found = simulated_power(
            x,
            ratio,
            kind=kind,
            alpha=ALPHA,
            power=POWER,
            start=start,
            most=MOST,
            experiments=EXPERIMENTS,
            exchanges=EXCHANGES,
        )
    except VgoError:  # no cure of this kind reaches the ratio, so none needs planning for
        return 0
    return found.runs or MOST
