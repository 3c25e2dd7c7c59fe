"""The shape of a distribution of run times: modes, tails, outliers, order of the runs, the grain of the clock."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..spread import inflation
from ..values import FiniteResult, FloatArray, finite, ranks_of
from . import distribution
from .change_points import ChangePoint, change_points, shifts

MOST_OFF = 0.05
"""Of a step, that a gap may miss a whole number of steps by: the two ends were rounded when they were recorded."""
LEAST_ON_GRID = 0.9
"""Share of the gaps that must be whole numbers of steps: runs that stand in the table twice tie without a clock."""
LEAST_RUNS = 10
HEAD_SHARE = 4
"""At most one run in four can be warm-up: longer, it is the program's life and not its start."""
LONG_HEAD, LONG_SHARE = 40, 10
"""One level that lasts longer than this is the machine's drift, unless it is at most one run in ten; a start that
comes nearer to what follows settles, however long it takes."""
NEARER = 2.576
"""Standard errors of the rank correlation with the run number, from which a start comes nearer."""
SETTLED = 2.0
"""How many times farther off a start must be than later levels are from each other: a trend goes on as it began."""
DRIFT_SHARE = 0.1
"""Of the mean absolute deviation of the runs from their median, what that of the levels must reach. A few runs of very
many, or a small shift beside rare runs far out, are as sure as any shift and make next to nothing of the spread."""
HEAD_JUMP = 5.0
"""How many robust SDs (1.4826 MAD) the first runs must stand off when only their size gives them away."""
FEW_RUNS = 40
"""With fewer, the first run is the extreme of all by luck too often: it must stand off three times as far."""
MOST_LAG1 = 0.95
DECORRELATION = 3
LEAST_BLOCKS = 5
LEAST_IN_MODE = 5
"""Runs on either side of the valley, or tails are judged as if there were one mode: so few make no class either."""


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


def warm_up_length(values: ArrayLike, places: list[int] | None = None) -> int:
    """Count the runs at the start that are a transient: 0 unless they clearly differ from all that follows.

    Two signs: the first few runs lie beyond every later run and far off, or the levels between shifts (`places`, if
    known) do so at the start. Of 100 runs whose first 10 take longer, by two SDs, the shift is found in 94 %.
    """
    x = finite(values)
    if x.size < LEAST_RUNS or x.min() == x.max():
        return 0
    return max(_head_apart(x), _settled(x, shifts(x) if places is None else places))


def _settled(x: FloatArray, places: list[int]) -> int:
    """Longest start whose levels lie on one side of all later ones, far off beside what these differ by."""
    if not places:
        return 0
    levels = np.array([np.median(part) for part in np.split(x, places)])
    longest = 0
    for count, place in enumerate(places, 1):
        if place > x.size // HEAD_SHARE:
            break
        head, rest = levels[:count], levels[count:]
        apart = max(head.min() - rest.max(), rest.min() - head.max())
        short = place <= max(LONG_HEAD, x.size // LONG_SHARE)
        if apart > SETTLED * np.ptp(rest) and (short or _comes_nearer(x[:place], falls=head[0] > rest[0])):
            longest = place
    return longest


def _comes_nearer(head: FloatArray, falls: bool) -> bool:
    """Tell whether the runs of a start go on towards what follows; a mere level does not."""
    ranks, order = ranks_of(head), np.arange(head.size) - (head.size - 1) / 2
    r = float(ranks @ order / math.sqrt((ranks @ ranks) * (order @ order))) if ranks.any() else 0.0
    return (-r if falls else r) * math.sqrt(head.size - 1) > NEARER


def drift_share(x: FloatArray, places: list[int]) -> float:
    """Mean absolute deviation of the level that each run belongs to, over that of the runs; both from the median."""
    if not places:
        return 0.0
    parts = np.split(x, places)
    levels = np.repeat([np.median(part) for part in parts], [part.size for part in parts])
    of_levels, of_runs = (float(np.abs(one - np.median(one)).mean()) for one in (levels, x))
    return of_levels / of_runs


def lag1(values: ArrayLike) -> float | None:
    """Correlate each run with the next, on ranks, so that one wild run neither hides nor makes it."""
    x = finite(values)
    if x.size < 4 or x.min() == x.max():
        return None
    ranks = ranks_of(x) / 2
    return float((ranks[1:] * ranks[:-1]).sum() / (ranks**2).sum())


def block_length(slow_in_run_order: ArrayLike) -> int:
    """Say how many neighbouring runs must be permuted together: 1 where slowness does not come in spells.

    Three times the decorrelation time (1 + r) / (1 - r) of a first-order autoregression behind the labels (r from
    the arcsine law of its signs); at least five blocks remain, so very long spells stay a little too easy to find.
    """
    labels = finite(slow_in_run_order)
    signs = lag1(labels)
    if signs is None or signs < 1.645 / math.sqrt(labels.size):
        return 1
    r = min(math.sin(math.pi / 2 * min(signs, 1.0)), MOST_LAG1)
    return max(1, min(math.ceil(DECORRELATION * (1 + r) / (1 - r)), labels.size // LEAST_BLOCKS))


def _head_apart(x: FloatArray) -> int:
    """Longest start of which every run lies beyond all later ones, on one side and far off."""
    longest = 0
    for k in range(1, min(x.size // HEAD_SHARE, LEAST_RUNS) + 1):
        head, rest = x[:k], x[k:]
        middle = float(np.median(rest))
        far = HEAD_JUMP * 1.4826 * float(np.median(np.abs(rest - middle))) * (3 if k == 1 and x.size < FEW_RUNS else 1)
        if head.min() > max(rest.max(), middle + far) or head.max() < min(rest.min(), middle - far):
            longest = k
    return longest


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
    outliers: distribution.Outliers
    """Runs beyond what the law of the bulk would reach: named, and left where they are."""
    ordered: bool
    """The order given is that of the runs; False: nothing below about order was looked at."""
    drift: bool
    """The level shifts with the order of the runs, after warm-up, and that makes a share of the spread."""
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
    warm_up = warm_up_length(x, places) if ordered else 0
    steady = x[warm_up:]
    ascending = np.sort(steady)
    all_equal = not steady.size or bool(ascending[0] == ascending[-1])
    step = None if all_equal else resolution(ascending)
    coarse = step is not None and step >= float(ascending.std(ddof=1))
    gap = None if all_equal else tie_gap(ascending)
    smooth = ascending if gap is None else untied(ascending, gap)
    cuts = [] if all_equal or coarse else distribution.valleys(smooth, gap or 0.0)
    lowest, highest = _outer(smooth, cuts)
    found = distribution.outliers(steady, smooth, sorted(cuts))
    return DistributionShape(
        n=steady.size,
        modes=_modes(ascending, sorted(cuts)),
        valley=cuts[0] if cuts else None,
        valleys=tuple(sorted(cuts)),
        right_tail=distribution.heavy(highest),
        left_tail=distribution.heavy(-lowest[::-1]),
        right_weight=distribution.weight(highest),
        left_weight=distribution.weight(-lowest[::-1]),
        outliers=found.model_copy(update={"places": tuple(int(where[warm_up + place]) for place in found.places)}),
        ordered=ordered,
        drift=drift_share(steady, [place - warm_up for place in places if place > warm_up]) >= DRIFT_SHARE,
        warm_up=warm_up,
        change_points=tuple(one.model_copy(update={"run": int(where[one.run])}) for one in change_points(x, places)),
        shifts=len(places),
        lag1=lag1(steady) if ordered else None,
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
