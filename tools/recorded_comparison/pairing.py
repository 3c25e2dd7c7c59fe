"""Which run of one arm belongs to which of the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..recorded.columns import listed
from ..recorded.draft import ITERATION, of_runs
from ..statistics.values import BoolArray, FloatArray, IntArray
from .arms import RecordedArm, column_of

OF_A_DIAGNOSIS = ("call", "pair")
"""The columns that tell pairs in a table of our own."""


class MatchedRuns(NamedTuple):
    """Values of both arms, pair by pair in the order of the baseline."""

    baseline: FloatArray
    other: FloatArray
    alone: int
    """Rows of either arm whose partner is missing."""
    runs: IntArray
    """Shape (pairs,): the pair of runs that each pair of rows is a sample of, or the block of pairs."""


def pairs(baseline: RecordedArm, other: RecordedArm, columns: tuple[str, ...]) -> MatchedRuns:
    """Join on columns, or row by row where none are given; gaps are dropped and counted."""
    if not columns and baseline.recorded.format == other.recorded.format == "vgo-agent":
        columns = OF_A_DIAGNOSIS
        if all(ITERATION in arm.recorded.frame.columns for arm in (baseline, other)):
            columns += (ITERATION,)
    if not columns:
        return _row_by_row(baseline, other)
    joined = _keyed(baseline, columns).join(
        _keyed(other, columns), on=_places(columns), how="inner", maintain_order="left"
    )
    if joined.height < 2:
        raise VgoError(
            f"{baseline.name} and {other.name} share {joined.height} of the values of {listed(columns)}: name others."
        )
    alone = baseline.values.size + other.values.size - 2 * joined.height
    runs = _both(joined["run"].to_numpy(), joined["run_right"].to_numpy())
    return MatchedRuns(joined["value"].to_numpy(), joined["value_right"].to_numpy(), alone, runs)


def _row_by_row(baseline: RecordedArm, other: RecordedArm) -> MatchedRuns:
    x, y = baseline.values, other.values
    if x.size != y.size:
        raise VgoError(
            f"{baseline.name} has {x.size} runs and {other.name} {y.size}, so rows are not pairs: "
            "give --pair with the columns that tell pairs, or leave out --paired."
        )
    return MatchedRuns(x, y, 0, _both(baseline.runs, other.runs))


def _keyed(arm: RecordedArm, columns: tuple[str, ...]) -> pl.DataFrame:
    """Values by key; runs without a whole key or a finite value are gaps, a key that comes twice is refused.

    Key columns are called by their place, since a table may have a `value` or a `run` of its own.
    """
    keys = _places(columns)
    named = [column_of(arm.recorded, name, "--pair").alias(key) for name, key in zip(columns, keys, strict=True)]
    keyed = pl.DataFrame([*named, pl.Series("value", arm.values), pl.Series("run", arm.runs)])
    keyed = keyed.filter(pl.Series(np.isfinite(arm.values))).drop_nulls()
    if "pair" in columns and arm.recorded.format == "vgo-agent":
        keyed = keyed.filter(pl.col(keys[columns.index("pair")]) >= 0)
    twice = keyed.select(keys).is_duplicated()
    if twice.any():
        first = keyed.filter(twice).select(keys).row(0)
        key = ", ".join(f"{name}={value}" for name, value in zip(columns, first, strict=True))
        raise VgoError(f"{arm.name} has several runs with {key}, so they tell no pairs: add a column to --pair.")
    return keyed


def _places(columns: tuple[str, ...]) -> list[str]:
    return [f"key {place}" for place in range(len(columns))]


def _both(x: IntArray, y: IntArray) -> IntArray:
    """Number pairs of runs."""
    return x * (int(y.max(initial=0)) + 1) + y


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
