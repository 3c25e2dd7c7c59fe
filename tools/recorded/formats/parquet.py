"""Parquet: columns that are left out are not read; tables that vgo-agent wrote say what their columns mean."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path

import polars as pl

from ....knowledge.errors import VgoError
from ...statistics.values import FiniteResult
from ..mapping import meant, parse_mapping
from ..recorded import Format, RecordedFiles, RecordedRuns, TableSource

MEANINGS = "vgo-agent"
"""Key of the file's own metadata under which the mapping stands, as JSON."""
MOST_CELLS = 200_000_000
"""1,000,000 runs of 200 columns: what an analysis holds in about 5 GB."""
MOST_ROWS = 250_000
"""More show no factor that these do not."""
MOST_FOLDERS = 10_000
"""That are looked into: a whole disk takes minutes, and is named by mistake."""
PLACE = "vgo.row"
SEED = 1
QUANTILES = (0.5, 0.95, 0.99)


def _read(source: TableSource) -> RecordedRuns:
    try:
        lazy = pl.scan_parquet(source.path, glob=False)
        names = lazy.collect_schema().names()
        frame = lazy.drop(source.leave_out, strict=False).collect(engine="streaming")
        told = pl.read_parquet_metadata(source.path).get(MEANINGS)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise VgoError(f"{source.given} is no whole Parquet file ({reason}): copy or write it again.") from error
    left = tuple(name for name in source.leave_out if name in names)
    recorded = RecordedRuns(frame, source.given, "parquet", left_out=left)
    return meant(recorded, parse_mapping(told, f"the metadata of {source.given}")) if told else recorded


PARQUET = Format("parquet", lambda source: source.is_parquet, _read)


def files_in(folder: Path) -> list[Path]:
    """Parquet files of a folder and of the folders in it, by name; [] where it is another kind of folder."""
    if not folder.is_dir() or (folder / "runs.csv").is_file():
        return []
    walked = os.walk(folder)  # passes over what vanishes meanwhile, or may not be read
    looked = islice(walked, MOST_FOLDERS)
    found = [Path(place, name) for place, _, names in looked for name in names if name.endswith(".parquet")]
    if next(walked, None):
        raise VgoError(f"{folder} has more than {MOST_FOLDERS:,} folders in it: name the one with the tables.")
    return sorted(path for path in found if path.is_file())


def read_folder(folder: Path, leave_out: Collection[str] = (), most_cells: int = MOST_CELLS) -> RecordedRuns:
    """Read all files of a folder in the order of their names; folders named `host=a` give a column.

    Above `most_cells` numbers, and then to a quarter million at most, only those rows are read whose hashed place in
    the table falls below a share: the same rows at each reading, and of every part of the table about as many. Raises
    VgoError where files do not fit together.
    """
    files = files_in(folder)
    try:
        lazy = _scan(files)
        names = lazy.collect_schema().names()
        lazy = lazy.drop(leave_out, strict=False)
        rows = int(lazy.select(pl.len()).collect(engine="streaming").item())
        fitting = most_cells // max(len(names) - len(leave_out), 1)
        if rows > fitting:
            lazy = _some(lazy, min(fitting, MOST_ROWS) / rows)
        frame = lazy.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise VgoError(f"The Parquet files in {folder} are no one table ({reason}): write them alike.") from error
    left = tuple(name for name in leave_out if name in names)
    notes = [f"{len(files)} Parquet files were read as one table of {rows:,} rows, in the order of their names."]
    if frame.height < rows:
        notes.append(
            f"{frame.height:,} of {rows:,} rows were drawn (those whose hashed place falls below a share): "
            "shares, factors and intervals are of the sample."
        )
    whole = RecordedFiles(tuple(files), rows) if frame.height < rows else None
    return RecordedRuns(frame, str(folder), "parquet folder", left_out=left, notes=tuple(notes), whole=whole)


def _scan(files: Sequence[Path]) -> pl.LazyFrame:
    return pl.scan_parquet(list(files), hive_partitioning=True, missing_columns="insert", extra_columns="ignore")


def _some(lazy: pl.LazyFrame, share: float) -> pl.LazyFrame:
    below = int(share * 2**64)
    numbered = lazy.with_row_index(PLACE)
    return numbered.filter(pl.col(PLACE).hash(SEED) < below).drop(PLACE)


class AllRows(FiniteResult):
    """One column over all rows."""

    column: str
    rows: int
    """With a finite value."""
    mean: float
    sd: float
    low: float
    high: float
    p50: float
    p95: float
    p99: float


def all_rows(whole: RecordedFiles, column: str) -> AllRows:
    """Stream one column; raise VgoError where it holds no numbers.

    Everything is exact up to rounding: the quantiles need this one column in memory, about 20 bytes a row.
    """
    x = pl.col("x")
    quantiles = {f"p{100 * share:.0f}": x.quantile(share, "linear") for share in QUANTILES}
    try:
        values = _scan(whole.files).select(x=pl.col(column).cast(pl.Float64)).filter(x.is_finite())
        told = values.select(rows=pl.len(), mean=x.mean(), sd=x.std(), low=x.min(), high=x.max(), **quantiles)
        found = told.collect(engine="streaming").row(0, named=True)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise VgoError(f"{column} cannot be streamed ({reason}): name a column of numbers.") from error
    if found["rows"] < 2:
        raise VgoError(f"{column} has fewer than two finite values: name another column.")
    return AllRows(column=column, **found)
