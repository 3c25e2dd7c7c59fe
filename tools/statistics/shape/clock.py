"""The grain of the clock behind an outcome."""

from __future__ import annotations

import numpy as np

from ..values import FloatArray


def resolution(sorted_values: FloatArray) -> float | None:
    """Find the step of the clock: the least gap, where at least one run in ten ties with another."""
    gaps = np.diff(sorted_values)
    # What arithmetic in floating point leaves is no gap.
    real = gaps[gaps > 1e-12 * max(abs(float(sorted_values[0])), abs(float(sorted_values[-1])))]
    if not real.size or real.size + 1 > 0.9 * sorted_values.size:
        return None
    return float(real.min())


def untied(sorted_values: FloatArray, step: float) -> FloatArray:
    """Spread tied runs evenly over one step of the clock: the grain is not part of the shape."""
    _, which, count = np.unique(sorted_values, return_inverse=True, return_counts=True)
    first = np.cumsum(count) - count
    within = np.arange(sorted_values.size) - first[which]
    spread: FloatArray = sorted_values + step * ((within + 0.5) / count[which] - 0.5)
    return np.sort(spread)
