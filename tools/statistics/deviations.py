"""What each value contributes to a measure of its arm, and what of an arm is exchanged as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .values import FloatArray, IntArray

Measure = Literal["spread", "sd", "relative spread", "cv", "mean"]
"""spread: mean absolute deviation from the median; relative spread: that over the median; cv: the SD over the mean."""
SQUARED: tuple[Measure, ...] = ("sd", "cv")
"""Measures whose contributions are squares."""


def contributions(values: FloatArray, measure: Measure, hosts: IntArray | None = None) -> FloatArray:
    """Give the contributions of an arm, shape (n,): the measure is their mean, or its root where they are squares.

    `hosts` numbers the host of each value: deviations are then from the centre of the arm on that host. What a centre
    on each host costs in degrees of freedom is put back.
    """
    if measure == "mean":
        return values
    if measure == "spread":
        return np.abs(values - _centres(values, hosts, np.median))
    if measure == "relative spread":
        centre = _centres(values, hosts, np.median)
        relative: FloatArray = np.abs(values - centre) / abs(float(np.median(values)))
        return relative
    groups = 1 if hosts is None else np.unique(hosts).size
    squares = (values - _centres(values, hosts, _mean)) ** 2 * (values.size / max(values.size - groups, 1))
    return squares / values.mean() ** 2 if measure == "cv" else squares


def _mean(values: FloatArray) -> float:
    """The mean, which rounding does not move off values that are all equal."""
    return float(np.clip(values.mean(), values.min(), values.max()))


def _centres(values: FloatArray, hosts: IntArray | None, centre: Callable[[FloatArray], Any]) -> FloatArray:
    if hosts is None:
        return np.full(values.size, centre(values))
    found = np.empty(values.size)
    for host in np.unique(hosts):
        found[hosts == host] = centre(values[hosts == host])
    return found


def unit_sums(values: FloatArray, size: int, *, rest: bool) -> FloatArray:
    """Add up neighbours, so many to a unit; `rest`: what is left at the end is a unit, too."""
    whole = values.size // size * size
    sums = values[:whole].reshape(-1, size).sum(axis=1)
    return np.append(sums, values[whole:].sum()) if rest and whole < values.size else sums
