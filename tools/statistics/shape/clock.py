"""The grain of the clock behind an outcome."""

from __future__ import annotations

import numpy as np

from ..values import FloatArray

MOST_OFF = 0.05
"""Of a step, that a gap may miss a whole number of steps by: the two ends were rounded when they were recorded."""
LEAST_ON_GRID = 0.9
"""Share of the gaps that must be whole numbers of steps: runs that stand in the table twice tie without a clock."""


def tie_gap(sorted_values: FloatArray) -> float | None:
    """Find the least gap between different values, where at least one run in ten ties with another; else None."""
    gaps = _gaps(sorted_values)
    if not gaps.size or gaps.size + 1 > 0.9 * sorted_values.size:
        return None
    return float(gaps.min())


def resolution(sorted_values: FloatArray) -> float | None:
    """Find the step of the clock: the least gap, where runs tie and the other gaps are whole numbers of it."""
    least = tie_gap(sorted_values)
    if least is None:
        return None
    gaps = _gaps(sorted_values)
    # A step of 41.67 may be recorded as 41 or 42.
    steps = gaps / gaps[gaps < 1.5 * least].mean()
    on_grid = np.abs(steps - steps.round()) <= MOST_OFF
    return least if on_grid.mean() >= LEAST_ON_GRID else None


def untied(sorted_values: FloatArray, step: float) -> FloatArray:
    """Spread tied runs evenly over one step: neither a clock's grain nor doubled rows are part of the shape."""
    _, which, count = np.unique(sorted_values, return_inverse=True, return_counts=True)
    first = np.cumsum(count) - count
    within = np.arange(sorted_values.size) - first[which]
    spread: FloatArray = sorted_values + step * ((within + 0.5) / count[which] - 0.5)
    return np.sort(spread)


def _gaps(sorted_values: FloatArray) -> FloatArray:
    gaps = np.diff(sorted_values)
    # What arithmetic in floating point leaves is no gap.
    real: FloatArray = gaps[gaps > 1e-12 * max(abs(float(sorted_values[0])), abs(float(sorted_values[-1])))]
    return real
