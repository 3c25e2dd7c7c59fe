"""Columns of a table that may say what kind of run a row is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl
import polars.selectors as cs

from ..statistics.values import IntArray
from .columns import are_moments
from .outcome import unit_columns
from .recorded import RecordedRuns
from .understand import MOMENT, NUMBER

MOST_NUMBERS = 20
"""Values that a column of whole numbers may have: what was set, as threads, has few, and what was counted many."""


def kinds(tables: Sequence[RecordedRuns], outcome: str, ignored: Collection[str], numbers: bool) -> list[str]:
    """Name the columns, of all tables, that hold words or truths, and with `numbers` a few whole numbers.

    Left out is what is known to be something else: a moment, an id, a consequence, a factor, the unit of the outcome.
    """
    first, *others = tables
    shared = [name for name in first.frame.columns if all(name in other.frame.columns for other in others)]
    left_out = {outcome, *unit_columns(outcome), *ignored}
    return [
        name
        for name in shared
        if name not in left_out
        and all(table.roles.get(name) in (None, "setting") for table in tables)
        and not (NUMBER.fullmatch(name) or MOMENT.search(name))
        and all(_may_be(table.frame[name], numbers or table.roles.get(name) == "setting") for table in tables)
    ]


def _may_be(column: pl.Series, numbers: bool) -> bool:
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return not are_moments(column.cast(pl.String))
    if not numbers:
        return False
    if column.dtype == pl.Boolean:
        return True
    whole = column.dtype.is_numeric() and not column.is_empty() and bool((column.drop_nulls() % 1 == 0).all())
    return whole and column.n_unique() <= MOST_NUMBERS


def numbered(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> Mapping[str, IntArray]:
    """Number the values of columns over several tables, one after the other; a missing value is one as well."""
    together = pl.concat([frame.select(pl.col(name).cast(pl.String) for name in names) for frame in frames])
    codes = together.select(cs.all().rank("dense").fill_null(0).cast(pl.Int64))
    return {name: codes[name].to_numpy().astype(np.int64) for name in names}
