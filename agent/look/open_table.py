"""A table in the process that computes; what takes long to import is imported when the first question needs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ...tools.recorded.design import designs
from ...tools.recorded.read import read
from ...tools.recorded.shapes import ColumnOptions, Observations
from .messages import OpenedTable, ReadPage, TablePage
from .pages import page_of
from .scenes import PlottedOutcomes

if TYPE_CHECKING:
    from .fits import Fits


@dataclass(frozen=True)
class OpenTable:
    """The rows of a table, and what can be computed on them."""

    source: str
    frame: pl.DataFrame
    design: Observations
    folder: Path | None = None
    """Of a diagnosis, whose profile is what is labelled."""

    def opened(self) -> OpenedTable:
        """Tell what there is."""
        return OpenedTable(outcomes_of(self.design), self.frame.height, tuple(self.frame.columns))

    def page(self, asked: ReadPage) -> TablePage:
        """Read some rows."""
        return page_of(self.frame, self.source, asked)

    @cached_property
    def fits(self) -> Fits:
        """Load what computes."""
        if self.folder is not None:
            from .open_run import open_run

            run = open_run(self.folder)
            if run is not None:
                return run
        from .steady_runs import steady

        return steady(self.source, self.frame, self.design)


def outcomes_of(design: Observations) -> PlottedOutcomes:
    """Show the outcomes of a group of runs."""
    return PlottedOutcomes(design.outcome, design.unit, design.outcome_name, design.lower_is_better)


def open_file(path: Path, outcome: str | None = None) -> OpenTable:
    """Read a recorded file or a run folder; of several groups, the one with most runs."""
    recorded = read(path)
    run = outcome is None and (path / "request.json").is_file()
    parts = designs(recorded, ColumnOptions(outcome=outcome))
    _, largest = max(parts, key=lambda part: part[1].outcome.size)
    return OpenTable(recorded.source, recorded.frame, largest, path if run else None)
