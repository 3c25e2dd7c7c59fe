"""The order in which the runs were made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..statistics.values import FloatArray, IntArray
from .quantity import Mixed, parse, seconds
from .recorded import RecordedRuns
from .shapes import NO_ORDER, ColumnOptions


class RunOrder(NamedTuple):
    """Rows of the table in run order."""

    rows: IntArray
    ordered: bool
    column: str | None
    """The column that they were sorted by; None: the order of the file."""
    warnings: tuple[str, ...]


def run_order(recorded: RecordedRuns, wanted: ColumnOptions, rows: IntArray) -> RunOrder:
    """Sort rows by the column that gives their order; without one, the order of the file is taken."""
    if wanted.order == NO_ORDER:
        return RunOrder(rows, False, None, ())
    by_format = next((name for name, role in recorded.roles.items() if role == "order"), None)
    name = wanted.order or by_format
    if name is None or name not in recorded.frame.columns:
        return RunOrder(rows, True, None, ())
    moments = _moments(recorded.frame[name])
    if moments is None:
        raise VgoError(f"{name} gives no order: name a column of numbers or ISO times, or give --order {NO_ORDER}.")
    values = moments[rows]
    known = np.isfinite(values)
    if not wanted.order and not known.all():
        return RunOrder(rows, True, None, (f"{name} is missing in some runs, so the order of the file is taken.",))
    if not known.any():
        raise VgoError(f"{name} is empty and gives no order: give --order {NO_ORDER}.")
    rows, values = rows[known], values[known]
    if len(rows) > 1 and np.ptp(values) == 0:
        raise VgoError(f"{name} is the same in all runs and gives no order: give --order {NO_ORDER}.")
    return RunOrder(rows[np.argsort(values, kind="stable")], True, name, _warnings(name, known, values))


def _warnings(name: str, known: np.ndarray[tuple[int], np.dtype[np.bool_]], values: FloatArray) -> tuple[str, ...]:
    warnings = []
    missing = int((~known).sum())
    if missing:
        warnings.append(f"{missing} runs have no {name}, which gives the order: left out.")
    ties = len(values) - len(np.unique(values))
    if ties:
        warnings.append(f"{name} is the same for {ties} runs and the run before: their order is that of the file.")
    return tuple(warnings)


def _moments(column: pl.Series) -> FloatArray | None:
    """Turn a column into numbers to sort by; None where it has none."""
    if column.dtype == pl.String:
        read = parse(column)
        numbers = seconds(column) if read is None or isinstance(read, Mixed) else read.numbers
        return None if numbers is None else numbers.to_numpy(writable=True)
    if column.dtype.is_temporal():
        column = column.to_physical()
    if not column.dtype.is_numeric():
        return None
    return column.cast(pl.Float64).to_numpy(writable=True)
