"""Rows that are samples of runs are compared by whole runs, all of one length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..recorded.sampled import of_runs
from ..statistics.values import BoolArray, FloatArray, IntArray


class ArmSamples(NamedTuple):
    """Two arms, run after run."""

    baseline: FloatArray
    other: FloatArray
    each: int
    """Values that every run gives; 1 where rows are runs."""
    notes: tuple[str, ...]


def whole_runs(values: tuple[FloatArray, FloatArray], runs: tuple[IntArray, IntArray], paired: bool) -> ArmSamples:
    """Cut runs to the length of the shortest, the samples of each together in the order of the rows.

    `values` and `runs` have one item a row; of pairs, `runs` numbers the pair of runs that a pair of samples is of.
    Where rows are runs, nothing is changed.
    """
    x, y = values
    if not any(of_runs(one) for one in runs):
        return ArmSamples(x, y, 1, ())
    there = [np.isfinite(x) & np.isfinite(y)] * 2 if paired else [np.isfinite(x), np.isfinite(y)]
    places = [_by_run(one, mask) for one, mask in zip(runs, there, strict=True)]
    each = min((len(run) for arm in places for run in arm), default=1)
    kept = [np.array([place for run in arm for place in run[:each]], dtype=np.int64) for arm in places]
    counted = slice(1) if paired else slice(2)
    notes = []
    if missing := sum(int((~mask).sum()) for mask in there[counted]):
        notes.append(f"{missing} {'pairs of ' * paired}samples without a finite value were left out.")
    longer = sum(len(run) for arm in places[counted] for run in arm) - sum(len(arm) for arm in kept[counted])
    if longer:
        what = f"{'pairs of ' * paired}samples"
        notes.append(f"{longer} {what} were left out, so that every run gives {each}, as the shortest does.")
    return ArmSamples(x[kept[0]], y[kept[1]], each, tuple(notes))


def _by_run(runs: IntArray, there: BoolArray) -> list[list[int]]:
    """Places of the rows of each run, runs in the order of their first row."""
    found: dict[int, list[int]] = {}
    for place in np.flatnonzero(there).tolist():
        found.setdefault(int(runs[place]), []).append(place)
    return list(found.values())
