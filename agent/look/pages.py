"""Parts of a large table: a page of rows, and a column thinned to what can be drawn."""

from __future__ import annotations

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ...tools.statistics.ranks import r_squared
from ...tools.statistics.values import FloatArray
from .messages import ColumnRead, ReadPage, TablePage

MOST_DRAWN = 5_000
"""Points of a scatter: more than any terminal has cells for."""


def page_of(frame: pl.DataFrame, source: str, asked: ReadPage) -> TablePage:
    """Read some rows, sorted by a column; missing cells come last."""
    if asked.by is not None:
        if asked.by not in frame.columns:
            raise VgoError(f"{source} has no column {asked.by} to sort by.")
        frame = frame.sort(asked.by, descending=asked.descending, nulls_last=True, maintain_order=True)
    rows = frame.slice(asked.first, asked.count).rows()
    return TablePage(
        asked.first, frame.height, asked.by, asked.descending, tuple(tuple(map(_cell, row)) for row in rows)
    )


def thinned(name: str, values: FloatArray, outcome: FloatArray, unit: str) -> ColumnRead:
    """Draw some runs where there are too many, the same at every call; R2 is of all."""
    rows = np.arange(outcome.size)
    if rows.size > MOST_DRAWN:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_DRAWN, replace=False))
    return ColumnRead(name, values[rows], outcome[rows], unit, r_squared(values, outcome))


def _cell(value: object) -> str | float | None:
    return value if value is None or isinstance(value, int | float) else str(value)
