"""Slow and fast, or several ordered classes: cuts of the outcome, fixed before any counter is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ....knowledge.errors import VgoError
from ..shape.describe import DistributionShape
from ..values import LEAST_IN_CLASS, BoolArray, FiniteResult, FloatArray, IntArray, complete
from .cut_search import AUTOMATIC, CutRule

Kind = Literal[
    "modes",
    "right tail",
    "left tail",
    "drift",
    "median",
    "mean",
    "percentile",
    "tertiles",
    "quartiles",
    "given",
    "search",
]
LEAST_IN_TAIL = 8


class Classes(FiniteResult):
    """Where the outcome is cut and why, and how many runs fall into each class."""

    kind: Kind
    """given: the caller named the cut."""
    how: str
    """Why the cut lies there, in one phrase."""
    cut: float
    """Before the worst class: between two runs, in the unit of the outcome."""
    cuts: tuple[float, ...]
    """All cuts, ascending in the outcome."""
    lower_is_better: bool
    sizes: tuple[int, ...]
    """Runs of each class, from best to worst; a cut outside the outcomes leaves an empty one."""
    n_slow: int
    """Runs of the worst class."""
    n_fast: int
    """All others."""


@dataclass(frozen=True)
class Labelled:
    """The class of every run, kept out of the result: a million of them are an array and not a transcript."""

    classes: Classes
    worse: IntArray
    """Class of each run: 0 is the best."""
    slow: BoolArray
    """In the worst class."""


@dataclass(frozen=True)
class _Choice:
    kind: Kind
    how: str
    cuts: tuple[float, ...]


def label(
    outcome: ArrayLike, shape: DistributionShape, lower_is_better: bool = True, cut: CutRule = AUTOMATIC
) -> Labelled:
    """Cut the outcome into classes.

    Automatic: between modes, else before a heavy tail (the worse one first), else at the median. Drift does not
    forbid a tail: association is tested on what is left after the trend. The cut never depends on counters, except
    for `search`, which `cut_search` makes and pays for.
    """
    x = complete(outcome)
    return _labelled(x, _choose(np.sort(x), shape, lower_is_better, cut), lower_is_better)


def label_at(
    outcome: ArrayLike,
    cuts: float | tuple[float, ...],
    lower_is_better: bool = True,
    kind: Kind = "given",
    how: str = "where it was asked for",
) -> Labelled:
    """Cut where the caller says; a run that lies on a cut belongs to the better side."""
    points = tuple(sorted(cuts)) if isinstance(cuts, tuple) else (cuts,)
    return _labelled(complete(outcome), _Choice(kind, how, points), lower_is_better)


def _choose(ascending: FloatArray, shape: DistributionShape, lower_is_better: bool, cut: CutRule) -> _Choice:
    if cut.kind == "given":
        return _Choice("given", "where it was asked for", cut.points)
    if cut.kind == "percentile":
        shares = tuple(point / 100 for point in cut.points)
        names = " and ".join(f"p{point:g}" for point in cut.points)
        return _Choice("percentile", f"at {names}", _at(ascending, shares, lower_is_better))
    if cut.kind == "tertiles":
        return _Choice("tertiles", "into thirds of the runs", _at(ascending, (1 / 3, 2 / 3), lower_is_better))
    if cut.kind == "quartiles":
        return _Choice("quartiles", "into quarters of the runs", _at(ascending, (0.25, 0.5, 0.75), lower_is_better))
    if cut.kind == "search":
        if not cut.points:
            raise VgoError("--cut search needs columns to search with; here choose --cut auto.")
        return _Choice("search", "where a tree explains it best", cut.points)
    return _of_shape(ascending, shape, lower_is_better, cut)


def _of_shape(ascending: FloatArray, shape: DistributionShape, lower_is_better: bool, cut: CutRule) -> _Choice:
    if cut.kind == "mean":
        return _Choice("mean", "at the mean", (float(ascending.mean()) if ascending.size else 0.0,))
    if cut.kind == "median":
        return _Choice("median", "at the median", (_middle_cut(ascending, lower_is_better),))
    if cut.kind == "between-modes":
        if not shape.valleys:
            raise VgoError("The outcome has one mode, so nothing lies between modes: choose --cut median or auto.")
        return _Choice("modes", "in the valley between modes", shape.valleys)
    if cut.kind == "before-tail":
        return _before_tail(ascending, lower_is_better)
    return _automatic(ascending, shape, lower_is_better)


def _automatic(ascending: FloatArray, shape: DistributionShape, lower_is_better: bool) -> _Choice:
    if shape.valley is not None and _smaller(ascending, shape.valley) >= LEAST_IN_CLASS:
        return _Choice("modes", "in the valley between two modes", (shape.valley,))
    for worse in (lower_is_better, not lower_is_better):
        tail = _before_tail(ascending, worse)
        heavy = shape.right_tail if tail.kind == "right tail" else shape.left_tail
        if heavy and _smaller(ascending, tail.cuts[0]) >= LEAST_IN_TAIL:
            return tail
    if shape.drift:
        return _Choice("drift", "at the median, while the level drifts", (_middle_cut(ascending, lower_is_better),))
    how = "at the median, since neither a second mode nor a heavy tail is sure"
    return _Choice("median", how, (_middle_cut(ascending, lower_is_better),))


def _before_tail(ascending: FloatArray, right: bool) -> _Choice:
    if right:
        return _Choice("right tail", "before the right tail", (_tail_cut(ascending),))
    return _Choice("left tail", "before the left tail", (-_tail_cut(-ascending[::-1]),))


def _labelled(x: FloatArray, choice: _Choice, lower_is_better: bool) -> Labelled:
    cuts = np.array(choice.cuts)
    # A run on a cut is on the better side of it, whichever that is.
    above = np.searchsorted(cuts, x, side="left" if lower_is_better else "right")
    worse = (above if lower_is_better else cuts.size - above).astype(np.int64)
    sizes = np.bincount(worse, minlength=cuts.size + 1)
    classes = Classes(
        kind=choice.kind,
        how=choice.how,
        cut=choice.cuts[-1 if lower_is_better else 0],
        cuts=choice.cuts,
        lower_is_better=lower_is_better,
        sizes=tuple(sizes.tolist()),
        n_slow=int(sizes[-1]),
        n_fast=int(x.size - sizes[-1]),
    )
    return Labelled(classes, worse, worse == cuts.size)


def _smaller(ascending: FloatArray, cut: float) -> int:
    below = int(np.searchsorted(ascending, cut, side="right"))
    return min(below, ascending.size - below)


def _at(ascending: FloatArray, shares: tuple[float, ...], lower_is_better: bool) -> tuple[float, ...]:
    """Cut as near to each share of the runs as ties allow; shares that fall into one tie become one cut."""
    return tuple(sorted({_cut_at(ascending, share * ascending.size, lower_is_better) for share in shares}))


def _tail_cut(ascending: FloatArray) -> float:
    """Middle of the largest gap between p75 and p90, with enough runs above it."""
    n = ascending.size
    first, last = int(0.75 * n), min(int(np.ceil(0.9 * n)), n - LEAST_IN_TAIL)
    if last <= first or first < 1:
        return _middle_cut(ascending, True)
    gaps = ascending[first : last + 1] - ascending[first - 1 : last]
    place = first + int(gaps.argmax())
    return float(ascending[place - 1] + ascending[place]) / 2


def _middle_cut(ascending: FloatArray, lower_is_better: bool) -> float:
    return _cut_at(ascending, ascending.size / 2, lower_is_better)


def _cut_at(ascending: FloatArray, runs: float, lower_is_better: bool) -> float:
    """Cut between two different values so that as near to `runs` lie below it as ties allow.

    Of two places equally near, the one with more runs on the worse side.
    """
    steps = np.flatnonzero(np.diff(ascending) > 0) + 1
    if not steps.size:
        return float(ascending[0]) if ascending.size else 0.0
    away = np.abs(steps - runs)
    nearest = steps[away == away.min()]
    place = int(nearest[0 if lower_is_better else -1])
    return float(ascending[place - 1] + ascending[place]) / 2
