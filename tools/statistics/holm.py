"""Holm 1979, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values so that the chance of any false claim among them is kept."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    result = np.empty(p.size)
    result[order] = adjusted
    return tuple(result.tolist())


def holm_steps(p_values: Mapping[str, float], alpha: float) -> dict[str, float]:
    """Give each member the alpha of its step; the members that are not rejected have that of the first such step."""
    left, found = len(p_values), {}
    for name in sorted(p_values, key=lambda name: p_values[name]):
        found[name] = alpha / left
        left -= p_values[name] <= alpha / left
    return found
