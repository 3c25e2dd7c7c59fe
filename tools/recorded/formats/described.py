"""A text table with a mapping beside it (`runs.csv` and `runs.columns.yaml`), as `vgo-agent import --save` writes."""

from __future__ import annotations

from dataclasses import replace

from ..mapping import read_mapping
from ..meant import meant
from ..recorded import RecordedRuns
from ..source import TableSource
from .base import Format
from .delimited import header_of, read_table

SIDECAR = ".columns.yaml"


def _recognises(source: TableSource) -> bool:
    return source.beside(SIDECAR).is_file() and bool(header_of(source))


def _read(source: TableSource) -> RecordedRuns:
    meanings = read_mapping(source.beside(SIDECAR))
    outside = meanings.in_file(source.leave_out)
    table = read_table(replace(source, texts=source.texts | meanings.texts), outside)
    left = tuple(name for name in outside if name in header_of(source))
    return meant(RecordedRuns(table.frame, source.given, "csv", left_out=left, notes=table.notes), meanings)


DESCRIBED_CSV = Format("csv with a mapping", _recognises, _read)
