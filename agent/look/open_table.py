"""A table in the process that computes; what takes long to import is imported when the first question needs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import polars as pl

from ...tools.recorded.design import designs
from ...tools.recorded.read import read
from ...tools.recorded.recorded import RecordedRuns
from ...tools.recorded.shapes import ColumnOptions, Observations
from .messages import ColumnRead, OpenedTable, ReadPage, Refit, Refitted, Shaped, TablePage
from .pages import page_of
from .scenes import PlottedOutcomes


class Fits(Protocol):
    """What computes on the runs of a table."""

    def shaped(self) -> Shaped:
        """Find modes and cut."""

    def refit(self, asked: Refit) -> Refitted:
        """Label, fit and rank at a cut."""

    def column(self, name: str) -> ColumnRead:
        """Read one column over the runs that are labelled."""


@dataclass(frozen=True)
class OpenTable:
    """The rows of a table, and what can be computed on them."""

    source: str
    frame: pl.DataFrame
    design: Observations
    folder: Path | None = None
    """Of a diagnosis, whose profile is what is labelled."""

    @property
    def outcomes(self) -> PlottedOutcomes:
        """Of the runs that count."""
        design = self.design
        return PlottedOutcomes(design.outcome, design.unit, design.outcome_name, design.lower_is_better)

    def opened(self) -> OpenedTable:
        """Tell what there is."""
        header = tuple(self.frame.columns)
        return OpenedTable(
            self.source, self.outcomes, self.design.names, self.frame.height, header, self.design.warnings
        )

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


def open_file(path: Path, outcome: str | None = None) -> OpenTable:
    """Read a recorded file or a run folder; of several groups, the one with most runs."""
    recorded = read(path)
    run = outcome is None and (path / "request.json").is_file()
    return OpenTable(recorded.source, recorded.frame, _largest(recorded, outcome), path if run else None)


def _largest(recorded: RecordedRuns, outcome: str | None) -> Observations:
    parts = designs(recorded, ColumnOptions(outcome=outcome))
    group, design = max(parts, key=lambda part: part[1].outcome.size)
    if not group:
        return design
    named = ", ".join(f"{name} {value}" for name, value in group.items())
    words = f"The largest of {len(parts)} groups is shown: {named}."
    return replace(design, warnings=(words, *design.warnings))
