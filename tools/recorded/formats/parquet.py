"""Parquet: columns that are left out are not read; tables that vgo-agent wrote say what their columns mean."""

from __future__ import annotations

import polars as pl

from ....knowledge.errors import VgoError
from ..mapping import parse_mapping
from ..meant import meant
from ..recorded import RecordedRuns
from ..source import TableSource
from .base import Format

MEANINGS = "vgo-agent"
"""Key of the file's own metadata under which the mapping stands, as JSON."""


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
