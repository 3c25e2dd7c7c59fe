"""The shape of a distribution of run times: modes, tails, order of the runs, the grain of the clock."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..values import FloatArray, Result, finite
from . import mixture, order

TAIL_RATIO = 1.183
"""Mean distance of the upper half from the median over the median absolute deviation, for a normal law."""
TAIL_EXCESS = 2.4
"""Above it by this over sqrt(half the runs) is a heavy tail: 1 to 2 of 100 normal samples of 60 runs get there."""
LEAST_FOR_TAIL = 20


class Mode(Result):
    """One hump: the runs between two valleys."""

    position: float
    """Median of its runs."""
    weight: float
    """Share of the runs."""


class Shape(Result):
    """What the distribution looks like, of the runs after warm-up; `warm_up` counts those before."""

    n: int
    modes: tuple[Mode, ...]
    """From low to high; a single one unless two laws fit much better than the best single one."""
    valley: float | None
    """The cut between modes that splits all the runs; None with one mode."""
    right_tail: bool
    """Heavier than that of a normal law."""
    left_tail: bool
    drift: bool
    """The level moves with the order of the runs."""
    warm_up: int
    """Runs at the start that are a transient: the index of the first steady run."""
    lag1: float | None
    """Rank correlation of each run with the next."""
    resolution: float | None
    """Step of the clock, where so many runs tie that it shows."""
    clock_too_coarse: bool
    """The step is as large as the spread: the shape says more about the clock than about the program."""
    all_equal: bool


def describe(values_in_run_order: ArrayLike) -> Shape:
    """Describe the finite values, given in the order in which the runs were made."""
    x = finite(values_in_run_order)
    warm_up = order.warm_up_length(x)
    steady = x[warm_up:]
    ascending = np.sort(steady)
    all_equal = not steady.size or bool(ascending[0] == ascending[-1])
    step = None if all_equal else resolution(ascending)
    coarse = step is not None and step >= float(ascending.std(ddof=1))
    smooth = ascending if step is None else _untied(ascending, step)
    cuts = [] if all_equal or coarse else mixture.valleys(smooth, step or 0.0)
    return Shape(
        n=steady.size,
        modes=_modes(ascending, sorted(cuts)),
        valley=cuts[0] if cuts else None,
        right_tail=_heavy(smooth),
        left_tail=_heavy(-smooth[::-1]),
        drift=order.drifts(steady),
        warm_up=warm_up,
        lag1=order.lag1(steady),
        resolution=step,
        clock_too_coarse=coarse,
        all_equal=all_equal,
    )


def resolution(sorted_values: FloatArray) -> float | None:
    """Find the step of the clock: the least gap, where at least one run in ten ties with another."""
    gaps = np.diff(sorted_values)
    # What arithmetic in floating point leaves is no gap.
    real = gaps[gaps > 1e-12 * max(abs(float(sorted_values[0])), abs(float(sorted_values[-1])))]
    if not real.size or real.size + 1 > 0.9 * sorted_values.size:
        return None
    return float(real.min())


def _modes(x: FloatArray, cuts: list[float]) -> tuple[Mode, ...]:
    parts = np.split(x, np.searchsorted(x, cuts))
    return tuple(Mode(position=float(np.median(part)), weight=part.size / x.size) for part in parts if part.size)


def _untied(x: FloatArray, step: float) -> FloatArray:
    """Spread tied runs evenly over one step of the clock: the grain is not part of the shape."""
    _, which, count = np.unique(x, return_inverse=True, return_counts=True)
    first = np.cumsum(count) - count
    within = np.arange(x.size) - first[which]
    spread: FloatArray = x + step * ((within + 0.5) / count[which] - 0.5)
    return np.sort(spread)


def _heavy(x: FloatArray) -> bool:
    """Say whether the upper half of sorted values reaches further than that of a normal law of the same MAD."""
    if x.size < LEAST_FOR_TAIL:
        return False
    away = x - np.median(x)
    reach, middle = float(away[(x.size + 1) // 2 :].mean()), float(np.median(np.abs(away)))
    if middle == 0:
        return reach > 0
    return reach / middle > TAIL_RATIO + TAIL_EXCESS / math.sqrt(x.size / 2)
