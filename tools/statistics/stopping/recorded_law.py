"""The law that recorded runs are taken to follow, and the one that a cure would leave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ....knowledge.errors import VgoError
from ..values import FloatArray

Kind = Literal["scale", "tail"]


@dataclass(frozen=True)
class Law:
    """The recorded runs as a law to draw from, without a cure and with it."""

    ascending: FloatArray
    ratio: float
    """Of the SDs, with the cure over without."""
    rare: tuple[float, float] | None = None
    """For `tail`: the share of runs in the rare group as recorded, and with the cure."""
    rare_is_high: bool = True

    def baseline(self, uniform: FloatArray) -> FloatArray:
        """Turn uniform numbers into runs: quantiles, interpolated between neighbouring recorded runs."""
        drawn: FloatArray = np.interp(
            uniform * (self.ascending.size - 1), np.arange(self.ascending.size), self.ascending
        )
        return drawn

    def cured(self, uniform: FloatArray) -> FloatArray:
        """Turn uniform numbers into runs with the cure."""
        if self.rare is None:
            median = float(np.median(self.ascending))
            return median + self.ratio * (self.baseline(uniform) - median)
        share, left = self.rare
        u = uniform if self.rare_is_high else 1 - uniform
        # The common group keeps its form and takes the place that the rare one leaves.
        common = u / (1 - left) * (1 - share)
        rare = 1 - (1 - u) / left * share if left else u
        moved = np.where(u < 1 - left, common, rare)
        return self.baseline(moved if self.rare_is_high else 1 - moved)


def law(values: FloatArray, ratio: float, kind: Kind) -> Law:
    """Make the law of recorded runs; raise VgoError when no cure of that kind can give the ratio.

    The smoothed bootstrap has no bandwidth to choose and draws nothing beyond the slowest recorded run. For `tail`
    two groups are split by least squares, and runs of the rarer one become rarer until the SD has the ratio.
    """
    ascending = np.sort(values)
    if kind == "scale":
        return Law(ascending, ratio)
    cut = least_squares_cut(ascending)
    rare_is_high = cut > ascending.size - cut
    common, rare = (ascending[:cut], ascending[cut:]) if rare_is_high else (ascending[cut:], ascending[:cut])
    share = rare.size / ascending.size
    return Law(ascending, ratio, (share, _left(common, rare, share, ratio)), rare_is_high)


def least_squares_cut(ascending: FloatArray) -> int:
    """Return how many of the sorted values belong to the lower of two groups with the least squares within them."""
    x = ascending - ascending.mean()
    size = np.arange(1, x.size)
    below = np.cumsum(x)[:-1]
    between = below**2 * (1 / size + 1 / (x.size - size))
    between[np.diff(ascending) == 0] = -1
    return int(np.argmax(between)) + 1


def _left(common: FloatArray, rare: FloatArray, share: float, ratio: float) -> float:
    """Share of the rare group at which the SD of both together has the ratio to the recorded one."""

    def sd(part: float) -> float:
        away = float(rare.mean() - common.mean())
        return math.sqrt((1 - part) * float(common.var()) + part * float(rare.var()) + part * (1 - part) * away**2)

    least = sd(0.0) / sd(share)
    if least >= ratio:
        raise VgoError(
            f"Without any of the rarer runs the SD would still be {least:.2g} of what it is, "
            f"so making them rarer cannot reach --plan {ratio:g}; choose a larger ratio, or --kind scale."
        )
    from scipy.optimize import brentq  # a fifth of a second to load, which most commands can spare

    return float(brentq(lambda part: sd(part) - ratio * sd(share), 0.0, share))
