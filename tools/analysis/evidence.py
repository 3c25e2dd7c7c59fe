"""What kind of evidence a link is: only what was switched on and off in mixed order is more than association."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..statistics.values import FloatArray

Evidence = Literal["association", "intervention", "intervention in blocks"]
"""intervention in blocks: varied on purpose, but one value after the other, so whatever else changed goes with it."""
MIXED = 2.0
"""Standard deviations below the expected number of switches at which the order no longer counts as mixed."""


def evidence(values: FloatArray, places: Sequence[int], setting: bool, ordered: bool) -> Evidence:
    """Judge one factor by its places among the columns, shape (runs, columns): was it set, did its values alternate?

    Settings in unknown order count as blocks: nothing shows that they were mixed.
    """
    if not setting:
        return "association"
    return "intervention" if ordered and mixed(values, places) else "intervention in blocks"


def mixed(values: FloatArray, places: Sequence[int]) -> bool:
    """Compare the number of runs of equal values with that of a random order of the same values.

    Mean and variance for any number of values by Barton and David 1957, "Multiple runs". Strict alternation has more
    runs than chance and is mixed as well.
    """
    _, which, counts = np.unique(values[:, list(places)], axis=0, return_inverse=True, return_counts=True)
    n = which.size
    if counts.size < 2:
        return False
    runs = 1 + int((np.diff(which.ravel()) != 0).sum())
    c = counts.astype(np.float64)
    squares, cubes = float((c**2).sum()), float((c**3).sum())
    expected = (n * (n + 1) - squares) / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
    return runs >= expected - MIXED * math.sqrt(max(variance, 0.0))
