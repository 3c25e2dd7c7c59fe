"""Sobol' indices of a fitted surface: which share of its variance each setting explains alone, and has a part in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from ..values import FiniteResult, FloatArray

DRAWN = 1024
"""Base points; a power of two."""


class Share(FiniteResult):
    """Of the variance over all configurations, each equally likely."""

    setting: str
    alone: float
    """First order: explained by this setting whatever the others are; within 0 and 1."""
    total: float
    """Total order: explained by it alone and together with others; at least as large as `alone`."""


def shares(
    surface: Callable[[FloatArray], FloatArray], names: Sequence[str], seed: int, drawn: int = DRAWN
) -> tuple[Share, ...]:
    """Estimate the indices (Saltelli et al., Computer Physics Communications 181, 2010) by SALib.

    `surface` takes points of shape (points, settings) between 0 and 1, uniform. Estimates can fall a little outside
    0 to 1, or alone above total: they are clipped.
    """
    from SALib.analyze import sobol as analyse
    from SALib.sample import sobol as sample

    problem = {"num_vars": len(names), "names": list(names), "bounds": [[0.0, 1.0]] * len(names)}
    points = sample.sample(problem, drawn, calc_second_order=False, seed=seed)
    values = surface(np.clip(points, 0.0, 1.0 - 1e-12))
    if np.ptp(values) == 0:
        return tuple(Share(setting=name, alone=0.0, total=0.0) for name in names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = analyse.analyze(problem, values, calc_second_order=False, seed=seed, num_resamples=2)
    alone, total = (np.clip(np.nan_to_num(found[key]), 0.0, 1.0) for key in ("S1", "ST"))
    return tuple(
        Share(setting=name, alone=float(first), total=float(max(first, both)))
        for name, first, both in zip(names, alone, total, strict=True)
    )
