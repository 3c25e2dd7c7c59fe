"""Slow and fast: one cut of the outcome, fixed before any counter is looked at."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..shape.describe import Shape
from ..values import FloatArray, Result, complete

Kind = Literal["modes", "right tail", "left tail", "drift", "median", "given"]
LEAST_IN_TAIL = 8
LEAST_IN_MODE = 5


class Classes(Result):
    """Which runs are the worse ones, and why the cut lies where it does."""

    kind: Kind
    """given: the caller named the cut."""
    cut: float
    """Between two runs, in the unit of the outcome."""
    lower_is_better: bool
    slow: tuple[bool, ...]
    """The worse side, one entry a run: above the cut, or below it where higher is better."""
    n_slow: int
    n_fast: int


def label(outcome: ArrayLike, shape: Shape, lower_is_better: bool = True) -> Classes:
    """Cut between modes; else, without drift, before a heavy tail (the worse one first); else at the median.

    The cut never depends on counters: a cut searched for where a tree fits best explains pure noise.
    """
    x = complete(outcome)
    ascending = np.sort(x)
    kind, cut = _choose(ascending, shape, lower_is_better)
    return _classes(x, kind, cut, lower_is_better)


def label_at(outcome: ArrayLike, cut: float, lower_is_better: bool = True) -> Classes:
    """Cut where the caller says; a run that lies on the cut is a fast one."""
    return _classes(complete(outcome), "given", cut, lower_is_better)


def _choose(ascending: FloatArray, shape: Shape, lower_is_better: bool) -> tuple[Kind, float]:
    if shape.valley is not None and _smaller(ascending, shape.valley) >= LEAST_IN_MODE:
        return "modes", shape.valley
    if shape.drift:
        return "drift", _middle_cut(ascending)
    tails: list[tuple[Kind, bool, float]] = [
        ("right tail", shape.right_tail, _tail_cut(ascending)),
        ("left tail", shape.left_tail, -_tail_cut(-ascending[::-1])),
    ]
    for kind, heavy, cut in tails if lower_is_better else tails[::-1]:
        if heavy and _smaller(ascending, cut) >= LEAST_IN_TAIL:
            return kind, cut
    return "median", _middle_cut(ascending)


def _classes(x: FloatArray, kind: Kind, cut: float, lower_is_better: bool) -> Classes:
    slow = x > cut if lower_is_better else x < cut
    count = int(slow.sum())
    return Classes(
        kind=kind,
        cut=cut,
        lower_is_better=lower_is_better,
        slow=tuple(slow.tolist()),
        n_slow=count,
        n_fast=x.size - count,
    )


def _smaller(ascending: FloatArray, cut: float) -> int:
    below = int((ascending <= cut).sum())
    return min(below, ascending.size - below)


def _tail_cut(ascending: FloatArray) -> float:
    """Middle of the largest gap between p75 and p90, with enough runs above it."""
    n = ascending.size
    first, last = int(0.75 * n), min(int(np.ceil(0.9 * n)), n - LEAST_IN_TAIL)
    if last <= first or first < 1:
        return _middle_cut(ascending)
    gaps = ascending[first : last + 1] - ascending[first - 1 : last]
    place = first + int(gaps.argmax())
    return float(ascending[place - 1] + ascending[place]) / 2


def _middle_cut(ascending: FloatArray) -> float:
    """Cut between two different values as near to half of the runs as ties allow."""
    steps = np.flatnonzero(np.diff(ascending) > 0) + 1
    if not steps.size:
        return float(ascending[0]) if ascending.size else 0.0
    place = int(steps[np.abs(steps - ascending.size / 2).argmin()])
    return float(ascending[place - 1] + ascending[place]) / 2
