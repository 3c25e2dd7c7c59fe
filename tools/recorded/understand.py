"""Columns of a table before any run is chosen: numbers, settings, and what is neither."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from ..statistics.values import FloatArray, IntArray, centred_ranks, ranks_of
from .columns import Mixed, are_moments, listed, parse, shortened
from .outcome import unit_columns
from .recorded import ColumnOptions, RecordedRuns

FEW = 20
"""A text that differs in every one of more runs than this names them."""
MOST_VALUES = 100
"""Values that a text setting may have: each becomes a column."""
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
_ALIKE = 0.995
"""Least rank correlation and R2 (linear or log-log) that say "the same quantity".

Both are asked, so that a cause with two far values, whose R2 with a two-mode outcome is nearly 1, is kept: its rank
correlation is at most 0.87. Simulated (normal, lognormal, bimodal, spiky; 300 samples each, 60 at 2,000 runs): a copy
rounded to a fifth of the robust SD is found in 69 to 83 % at 30 runs and in all at 200 and 2,000 runs (a tenth: 93 to
100 % at 30); a cause with noise of a tenth of that SD is set aside in at most 24 % at 10, 14 % at 30 and 16 % at 200
runs, one with noise of .23 of it in at most 6 % at 10 runs and never from 30 on; the mode of a run as 0/1, never.
"""
_MONOTONE = 0.9999
"""Least rank correlation that needs no shape: any monotone function of the outcome."""
_ROWS = 4096
"""Rows, evenly over the runs, that are enough to tell."""
_CHUNK = 256
_FEWEST_RESTATED = 8


@dataclass
class ColumnClasses:
    """What each column of a table is."""

    numbers: dict[str, pl.Series] = field(default_factory=dict)
    categories: dict[str, pl.Series] = field(default_factory=dict)
    """Text settings: which value each row has, "missing" included."""
    settings: set[str] = field(default_factory=set)
    shares: set[str] = field(default_factory=set)
    """Columns that hold true and false."""
    units: dict[str, str] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)
    moments: list[str] = field(default_factory=list)
    """Columns that give dates or times of day."""
    warnings: list[str] = field(default_factory=list)


def understand(recorded: RecordedRuns, wanted: ColumnOptions, outcome: str, order: str | None) -> ColumnClasses:
    """Sort the columns into numbers, text settings and what is set aside, with the reason."""
    known = ColumnClasses(units=dict(recorded.units))
    by_format = {name for name, role in recorded.roles.items() if role == "setting"}
    known.settings = (by_format | set(wanted.settings)) - {*wanted.group, *wanted.exclude, outcome}
    known.aside |= dict.fromkeys(recorded.left_out, "left out as asked")
    for column in recorded.frame:
        name = column.name
        reason = _beforehand(recorded, wanted, name, outcome, order)
        if name == outcome:
            continue
        if reason and name not in wanted.settings:
            known.aside[name] = reason
        else:
            _sort(known, column)
    return known


def _beforehand(recorded: RecordedRuns, wanted: ColumnOptions, name: str, outcome: str, order: str | None) -> str:
    """Say why a column is set aside whatever its values are."""
    if name in wanted.exclude:
        return "left out as asked"
    if name in wanted.group:
        return "the runs are grouped by it"
    if name in unit_columns(outcome):
        return "it gives the unit of the outcome"
    if name == order:
        return "it gives the order of the runs"
    role, words = recorded.roles.get(name), recorded.descriptions.get(name, "")
    if role == "consequence":
        return "a consequence: it changes because a run is slow" + (f" ({words.rstrip('.')})" if words else "")
    if role in ("id", "order"):
        return "it names the run or its circumstances" + (f" ({words.rstrip('.')})" if words else "")
    return ""


def _sort(known: ColumnClasses, column: pl.Series) -> None:
    name, dtype = column.name, column.dtype
    if dtype.is_numeric():
        known.numbers[name] = column
    elif dtype == pl.Boolean:
        _truth(known, column)
    elif dtype == pl.Duration:
        known.numbers[name], known.units[name] = column.dt.total_microseconds() / 1e6, "s"
    elif dtype.is_temporal():
        known.moments.append(name)
        known.aside[name] = "a date or time: it says when a run was made, not why it was slow"
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        _text(known, column.cast(pl.String))
    else:
        known.aside[name] = "empty" if dtype == pl.Null else f"no numbers ({dtype})"


def _truth(known: ColumnClasses, column: pl.Series) -> None:
    if column.name in known.settings:
        known.categories[column.name] = column.cast(pl.String).fill_null("missing")
    else:
        known.numbers[column.name] = column.cast(pl.UInt8)
        known.shares.add(column.name)


def _text(known: ColumnClasses, column: pl.Series) -> None:
    name = column.name
    if are_moments(column) and name not in known.settings:
        known.moments.append(name)
        known.aside[name] = "a date or time: it says when a run was made, not why it was slow"
        return
    read = parse(column)
    if isinstance(read, Mixed):
        known.aside[name] = f"it mixes units ({listed([unit or 'no unit' for unit in read.units])}): convert it to one"
    elif read is not None:
        known.numbers[name] = read.numbers
        known.units[name] = read.unit or known.units.get(name, "")
        if read.unread:
            known.warnings.append(f"In {name} these count as missing: {listed(read.unread, 5)}.")
    elif name in known.settings:
        known.categories[name] = column.fill_null("missing")
    else:
        known.aside[name] = _advice(column)


def _advice(column: pl.Series) -> str:
    values = column.drop_nulls().n_unique()
    if values == 0:
        return "empty"
    if values == 1:
        return f"constant (always {shortened(str(column.drop_nulls()[0]).strip()) or 'blank'})"
    if values == len(column) > FEW:
        return "text, different in every run: it names the run"
    if values > MOST_VALUES:
        return f"text with {values} values: give it with --group if it says what was run"
    return f"text with {values} values: give it with --settings if it was varied on purpose, or with --group"


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


def restated(values: FloatArray, outcome: FloatArray, exempt: Collection[int] = ()) -> dict[int, str]:
    """Return place and reason of the columns that restate the outcome; `values` has shape (runs, columns)."""
    rows = np.unique(np.linspace(0, len(outcome) - 1, _ROWS).astype(np.int64)) if len(outcome) else np.array([], int)
    if len(rows) < _FEWEST_RESTATED or np.ptp(outcome[rows]) == 0:
        return {}
    places = np.array([place for place in range(values.shape[1]) if place not in exempt], dtype=np.int64)
    return dict(_restating(values, outcome[rows], rows, places))


def _restating(values: FloatArray, outcome: FloatArray, rows: IntArray, places: IntArray) -> Iterator[tuple[int, str]]:
    ranks = ranks_of(outcome)
    for start in range(0, len(places), _CHUNK):
        chunk = places[start : start + _CHUNK]
        sample = np.column_stack([values[rows, place] for place in chunk])
        rank = _correlations(centred_ranks(sample), ranks)
        for place in np.flatnonzero(np.abs(rank) >= _ALIKE):
            reason = _reason(sample[:, place], outcome, float(rank[place]))
            if reason:
                yield int(chunk[place]), reason


def _reason(column: FloatArray, outcome: FloatArray, rank: float) -> str:
    words = "the outcome in other words"
    linear = float(_correlations(column[:, None], outcome)[0]) ** 2
    if linear >= _ALIKE:
        return f"{words}: {'' if linear > 1 - 1e-12 else 'nearly '}a linear function of it (R2 {linear:.5f})"
    if column.min() > 0 and outcome.min() > 0:
        power = float(_correlations(np.log(column)[:, None], np.log(outcome))[0]) ** 2
        if power >= _ALIKE:
            return f"{words}: {'proportional to its inverse or a power of it' if rank < 0 else 'a power of it'}"
    return f"{words}: a monotone function of it (rank correlation {rank:.5f})" if abs(rank) >= _MONOTONE else ""


def _correlations(columns: FloatArray, other: FloatArray) -> FloatArray:
    """Correlate each column with one vector; 0 where a column is constant."""
    left, right = columns - columns.mean(axis=0), other - other.mean()
    scale = np.sqrt((left**2).sum(axis=0) * (right @ right))
    product: FloatArray = right @ left
    return product / np.where(scale > 0, scale, np.inf)
