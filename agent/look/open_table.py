"""A table in the process that computes; what takes long to import is imported when the first question needs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ...knowledge.errors import VgoError
from ...tools.recorded.design import designs
from ...tools.recorded.read import read
from ...tools.recorded.recorded import ColumnOptions, Observations, RecordedRuns
from .messages import (
    FindShape,
    LookAnswer,
    LookQuestion,
    OpenedTable,
    OpenFile,
    ReadColumn,
    ReadPage,
    ReadTypicalRuns,
    Refit,
    TablePage,
    TypicalRuns,
    packed,
    unpacked,
)
from .scenes import outcomes_of

if TYPE_CHECKING:
    from .fits import Fits

LONGEST = 100
"""Characters of a cell that are shown."""


@dataclass(frozen=True)
class OpenTable:
    """The rows of a table, and what can be computed on them."""

    recorded: RecordedRuns
    design: Observations
    folder: Path | None = None
    """Of a diagnosis, whose profile is what is labelled."""

    def opened(self) -> OpenedTable:
        """Tell what there is."""
        return OpenedTable(outcomes_of(self.design), self.frame.height, tuple(self.frame.columns))

    @property
    def frame(self) -> pl.DataFrame:
        """The rows."""
        return self.recorded.frame

    def page(self, asked: ReadPage) -> TablePage:
        """Read some rows, sorted by a column; missing cells come last."""
        frame = self.frame
        if asked.by is not None:
            if asked.by not in frame.columns:
                raise VgoError(f"{self.recorded.source} has no column {asked.by} to sort by.")
            frame = frame.sort(asked.by, descending=asked.descending, nulls_last=True, maintain_order=True)
        rows = tuple(tuple(map(_cell, row)) for row in frame.slice(asked.first, asked.count).rows())
        return TablePage(asked.first, frame.height, asked.by, asked.descending, rows)

    def typical(self) -> TypicalRuns:
        """Find a slow and a fast run among those that have a ledger."""
        from ...tools.ledger.exports import typical_runs
        from ...tools.ledger.ledger import split_recorded

        return TypicalRuns(typical_runs(split_recorded(self.recorded)))

    @cached_property
    def fits(self) -> Fits:
        """Load what computes."""
        if self.folder is not None:
            from .open_run import open_run

            run = open_run(self.folder)
            if run is not None:
                return run
        from .fits import steady

        return steady(self.recorded.source, self.frame, self.design)


def open_file(path: Path, outcome: str | None = None) -> OpenTable:
    """Read a recorded file or a run folder; of several groups, the one with most runs."""
    recorded = read(path)
    run = outcome is None and (path / "request.json").is_file()
    parts = designs(recorded, ColumnOptions(outcome=outcome))
    _, largest = max(parts, key=lambda part: part[1].outcome.size)
    return OpenTable(recorded, largest, path if run else None)


def look(asked: str) -> str:
    """Answer a question about a table, both packed: the duty of a desk."""
    source, question = unpacked(asked)
    return packed(_answered(_opened(source), question))


@lru_cache(maxsize=1)
def _opened(source: OpenFile) -> OpenTable:
    return open_file(Path(source.path), source.outcome)


def _answered(table: OpenTable, question: LookQuestion) -> LookAnswer:
    match question:
        case OpenFile():
            return table.opened()
        case ReadPage():
            return table.page(question)
        case FindShape():
            return table.fits.shaped()
        case Refit():
            return table.fits.refit(question)
        case ReadColumn(name):
            return table.fits.column(name)
        case ReadTypicalRuns():
            return table.typical()


def _cell(value: object) -> str | float | None:
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
