"""Reasons to set a column of numbers aside at sight, without asking whether it goes with the outcome."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..statistics.values import FloatArray

MOST_MISSING = 0.2
"""Share of missing values up to which the rest still speaks for the column."""
_FEWEST = 8
"""Runs from which a column that only grows is unlikely to do so by luck (2 in 8!)."""
MOMENT = re.compile(r"(^|[_.\s-])(timestamp|epoch|date|datetime|ts|at|when)($|[_.\s-])", re.I)
NUMBER = re.compile(
    r"(run|rep|repeat|repetition|replication|replicate|trial|iteration)([_.\s-]?(no|num|number|id|index))?", re.I
)
_EPOCH = (1e9, 4e9)
"""Seconds since 1970 of the years 2001 to 2096."""


class GroupColumn(NamedTuple):
    """One column of one group of runs."""

    name: str
    present: FloatArray
    """The finite values, in run order."""
    runs: int
    ordered: bool


def mostly_empty(column: GroupColumn) -> str:
    """Too little of it was recorded."""
    missing = column.runs - len(column.present)
    if missing == column.runs:
        return "empty"
    return f"missing in {missing} of {column.runs} runs" if missing > MOST_MISSING * column.runs else ""


def constant(column: GroupColumn) -> str:
    """It does not vary, so it explains nothing."""
    low = column.present.min()
    return f"constant (always {low:.10g})" if low == column.present.max() else ""


def epoch(column: GroupColumn) -> str:
    """Seconds, milli-, micro- or nanoseconds since 1970, where the name says so too."""
    if not MOMENT.search(column.name):
        return ""
    scales = [
        (column.present >= _EPOCH[0] * scale) & (column.present <= _EPOCH[1] * scale) for scale in (1, 1e3, 1e6, 1e9)
    ]
    if np.logical_or.reduce(scales).all():
        return "a date or time: it says when a run was made, not why it was slow"
    return ""


def run_number(column: GroupColumn) -> str:
    """Whole numbers, each once and without a gap; or named as such, where they begin anew for each condition."""
    values = column.present
    if NUMBER.fullmatch(column.name) and (values == np.floor(values)).all():
        return "it numbers the runs; give it with --settings if it was varied"
    if len(values) < _FEWEST or values.max() - values.min() != len(values) - 1:
        return ""
    whole = bool((values == np.floor(values)).all())
    return "it numbers the runs" if whole and len(np.unique(values)) == len(values) else ""


def cumulative(column: GroupColumn) -> str:
    """It never turns back in run order, and moves in most runs: a clock, or a counter since boot."""
    if not column.ordered or len(column.present) < _FEWEST:
        return ""
    steps = np.diff(column.present)
    if np.count_nonzero(steps) < len(steps) / 2:
        return ""
    if (steps >= 0).all():
        return "a clock or a cumulative counter: it only grows with run order; record differences"
    if (steps <= 0).all():
        return "it only falls with run order, as what is used up: record differences"
    return ""


FOR_ALL: tuple[Callable[[GroupColumn], str], ...] = (mostly_empty, constant)
FOR_FACTORS = (*FOR_ALL, epoch, run_number, cumulative)
"""What a setting is excused from: it may well grow with run order, and is known to be no clock."""


def at_sight(column: GroupColumn, setting: bool) -> str:
    """Return the first reason to set a column aside, "" if there is none."""
    return next((reason for check in (FOR_ALL if setting else FOR_FACTORS) if (reason := check(column))), "")
