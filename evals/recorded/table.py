"""The table of a case: rows of all its series in one parquet file, a column the same in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from ...knowledge.errors import VgoError
from ...layers.schema import Layer
from ...tools.row import FIXED, REQUIRED, Row
from ...tools.run_table import described
from .recorded_case import TRIAL
from .schema import SERIES, Series

DIGITS = 9
"""Significant ones that are kept of a number: more are noise, and large."""
INTEGERS = ("order", "pair", "ok", "exit_code", "survivors")
TEXTS = (SERIES, TRIAL, "condition", "layers", "failure")


class Part(NamedTuple):
    """One series of runs."""

    series: Series
    trial: str | None
    """The mitigation that pairs were made for."""
    rows: Sequence[Row]


def write_table(path: Path, parts: Sequence[Part], layers: Iterable[Layer]) -> None:
    """Write the rows in the order given; metric columns are numbers unless a layer says that they are text."""
    names = sorted({name for part in parts for row in part.rows for name in row} - set(FIXED))
    texts = {column.name for column in described(names, layers) if column.type == "text"}
    schema = {name: _kind(name, texts) for name in (SERIES, TRIAL, *FIXED, *names)}
    rows = [{SERIES: part.series, TRIAL: part.trial, **row} for part in parts for row in part.rows]
    columns = {name: [row.get(name) for row in rows] for name in schema}
    frame = pl.DataFrame(columns, schema=schema, strict=False)
    rounded = frame.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS))
    rounded.write_parquet(path, compression="zstd", compression_level=19, statistics=False)


def read_table(path: Path) -> pl.DataFrame:
    """Read it back whole; raise VgoError where it is truncated, broken or lacks a fixed column."""
    try:
        frame = pl.read_parquet(path)
    except (PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise VgoError(f"{path} is not a whole parquet file ({reason}): restore it, or record again.") from error
    missing = [name for name in (SERIES, TRIAL, *REQUIRED) if name not in frame.columns]
    if missing:
        raise VgoError(f"{path} has no column {missing[0]}: record the case again.")
    return frame


def _kind(name: str, texts: set[str]) -> type[pl.DataType]:
    if name in INTEGERS:
        return pl.Int64
    return pl.String if name in TEXTS or name in texts else pl.Float64
