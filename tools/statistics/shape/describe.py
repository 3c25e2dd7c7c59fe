"""The shape of a distribution of run times: modes, tails, outliers, order of the runs, the grain of the clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..dependence import inflation
from ..values import FiniteResult, FloatArray, IntArray
from . import mixture, order, tails
from .change_points import ChangePoint, change_points, shifts
from .clock import resolution, tie_gap, untied

LEAST_IN_MODE = 5
"""Runs on either side of the valley, or tails are judged as if there were one mode: so few make no class either."""


class Mode(FiniteResult):
    """One hump: the runs between two valleys."""

    position: float
    """Median of its runs."""
    weight: float
    """Share of the runs."""


class DistributionShape(FiniteResult):
    """What the distribution looks like, of the runs after warm-up; `warm_up` counts those before."""

    n: int
    modes: tuple[Mode, ...]
    """From low to high; a single one unless two laws fit much better than the best single one."""
    valley: float | None
    """The cut between modes that splits all the runs; None with one mode."""
    valleys: tuple[float, ...]
    """All cuts between modes, ascending."""
    right_tail: bool
    """Heavier than that of a normal law; with several modes, that of the runs of the highest."""
    left_tail: bool
    """Likewise, of the lowest mode."""
    right_weight: float
    """Share of the same runs above their p75 by more than 1.5 interquartile ranges; 0.0035 for a normal law."""
    left_weight: float
    """Likewise below p25, of the runs of the lowest mode."""
    outliers: tails.Outliers
    """Runs beyond what the law of the bulk would reach: named, and left where they are."""
    ordered: bool
    """The order given is that of the runs; False: nothing below about order was looked at."""
    drift: bool
    """The level shifts with the order of the runs, after warm-up."""
    warm_up: int
    """Runs at the start that are a transient: the index of the first steady run."""
    change_points: tuple[ChangePoint, ...]
    """Where the level shifts, warm-up included: the 20 greatest jumps in run order."""
    shifts: int
    """Their number before that limit."""
    lag1: float | None
    """Rank correlation of each run with the next."""
    effective_runs: float | None
    """Independent runs that would say as much about the level."""
    resolution: float | None
    """Step of the clock, where so many runs tie that it shows."""
    clock_too_coarse: bool
    """The step is as large as the spread: the shape says more about the clock than about the program."""
    all_equal: bool


def describe(values: ArrayLike, ordered: bool = True) -> DistributionShape:
    """Describe the finite values of one column; `ordered`: they stand in the order in which the runs were made.

    Of more than 2000 runs the mixture sees 2000 evenly spaced order statistics, and change points are sought among
    the means of 2000 blocks of neighbours.
    """
    column = np.asarray(values, dtype=np.float64).ravel()
    where = np.flatnonzero(np.isfinite(column))
    x = column[where]
    places = shifts(x) if ordered else []
    warm_up = order.warm_up_length(x, places) if ordered else 0
    steady = x[warm_up:]
    ascending = np.sort(steady)
    all_equal = not steady.size or bool(ascending[0] == ascending[-1])
    step = None if all_equal else resolution(ascending)
    coarse = step is not None and step >= float(ascending.std(ddof=1))
    gap = None if all_equal else tie_gap(ascending)
    smooth = ascending if gap is None else untied(ascending, gap)
    cuts = [] if all_equal or coarse else mixture.valleys(smooth, gap or 0.0)
    lowest, highest = _outer(smooth, cuts)
    found = tails.outliers(steady, smooth, sorted(cuts))
    return DistributionShape(
        n=steady.size,
        modes=_modes(ascending, sorted(cuts)),
        valley=cuts[0] if cuts else None,
        valleys=tuple(sorted(cuts)),
        right_tail=tails.heavy(highest),
        left_tail=tails.heavy(-lowest[::-1]),
        right_weight=tails.weight(highest),
        left_weight=tails.weight(-lowest[::-1]),
        outliers=found.model_copy(update={"places": tuple(int(where[warm_up + place]) for place in found.places)}),
        ordered=ordered,
        drift=any(place > warm_up for place in places),
        warm_up=warm_up,
        change_points=_in_given_order(change_points(x, places), where),
        shifts=len(places),
        lag1=order.lag1(steady) if ordered else None,
        effective_runs=steady.size / inflation(steady).mean if ordered else None,
        resolution=step,
        clock_too_coarse=coarse,
        all_equal=all_equal,
    )


def _modes(x: FloatArray, cuts: list[float]) -> tuple[Mode, ...]:
    parts = np.split(x, np.searchsorted(x, cuts))
    return tuple(Mode(position=float(np.median(part)), weight=part.size / x.size) for part in parts if part.size)


def _outer(x: FloatArray, cuts: list[float]) -> tuple[FloatArray, FloatArray]:
    """Runs of the lowest and of the highest mode: a second mode is no tail of the first."""
    if not cuts:
        return x, x
    below = int(np.searchsorted(x, cuts[0]))
    if min(below, x.size - below) < LEAST_IN_MODE:
        return x, x
    parts = np.split(x, np.searchsorted(x, sorted(cuts)))
    return parts[0], parts[-1]


def _in_given_order(found: tuple[ChangePoint, ...], where: IntArray) -> tuple[ChangePoint, ...]:
    return tuple(point.model_copy(update={"run": int(where[point.run])}) for point in found)
