"""A run table that somebody recorded, what the user asks of it, and what the statistics get to see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..statistics.values import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class RecordedFiles:
    """The files, and how many rows they hold."""

    files: tuple[Path, ...]
    rows: int


@dataclass(frozen=True, kw_only=True)
class ColumnTraits:
    """What is known of the columns of a table, by their names."""

    units: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    """`outcome`, `factor`, `consequence`, `setting`, `order` or `id`, where the format knows."""
    levels: frozenset[str] = frozenset()
    """Columns that do not add up over a run, so that dividing them by its time, the outcome, says nothing."""
    rates: frozenset[str] = frozenset()
    """As `layers.schema.Column.rate`: multiplied by the outcome instead."""
    most_us: Mapping[str, float] = field(default_factory=dict)
    """As `layers.schema.Column.most_us`."""


@dataclass(frozen=True)
class RecordedRuns(ColumnTraits):
    """One row a run, in the order of the file."""

    frame: pl.DataFrame
    """The values as they stand in the file."""
    source: str
    """The path as the user gave it."""
    format: str
    outcome: str | None = None
    """The column that this format means as outcome; None: the user must name it."""
    lower_is_better: Mapping[str, bool] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    """The system under test and the options of the runs, flat; {} if unknown."""
    usual: Mapping[str, str] = field(default_factory=dict)
    """Column to value: the rows to look at unless the user groups by the column (the baseline of a diagnosis)."""
    group: tuple[str, ...] = ()
    """Columns whose combinations are looked at one by one unless the user says otherwise: benchmarks of one file."""
    left_out: tuple[str, ...] = ()
    """Columns that were not read, as asked for."""
    beyond: Mapping[str, float] = field(default_factory=dict)
    """Column to a number that was left out of it, too large or too small to compute with."""
    notes: tuple[str, ...] = ()
    """What was understood or dropped while reading."""
    whole: RecordedFiles | None = None
    """Where `frame` is a sample: what it was drawn from."""


NO_ORDER = "none"


@dataclass(frozen=True)
class ColumnOptions:
    """What the user asks for; None and () leave it to the table."""

    outcome: str | None = None
    lower_is_better: bool | None = None
    group: tuple[str, ...] = ()
    """Columns whose combinations are looked at one by one."""
    settings: tuple[str, ...] = ()
    """Columns that were varied on purpose."""
    exclude: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """Columns that do not add up over a run."""
    order: str | None = None
    """The column that gives the order of the runs; `none`: their order means nothing."""


@dataclass(frozen=True)
class Observations(ColumnTraits):
    """Outcomes and columns of one group of runs, all finite, in run order; `levels` holds the settings too."""

    outcome_name: str
    unit: str
    lower_is_better: bool
    outcome: FloatArray
    """Shape (runs,)."""
    names: tuple[str, ...]
    values: FloatArray
    """Shape (runs, columns), Fortran order; no column is constant; text settings are indicators named `host=a`."""
    rows: IntArray
    """Shape (runs,): the row of `Recorded.frame` that each run stands in."""
    ordered: bool
    """False where the order of the runs is unknown or means nothing."""
    assumed: bool = False
    """Nobody said what the order is: that of the file was taken."""
    runs: IntArray | None = None
    """Shape (rows,): the run that each row is a sample of, its median taken out of all values; None: rows are runs."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Text setting to its indicators."""
    settings: frozenset[str] = frozenset()
    """Names that were varied on purpose, indicators included."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Column to the reason why nothing is asked of it."""
    warnings: tuple[str, ...] = ()

    def after(self, first: int) -> Observations:
        """Leave out the first runs; what then never changes is set aside."""
        if not first:
            return self
        values = self.values[first:]
        varies = (values != values[:1]).any(axis=0) if values.size else np.zeros(len(self.names), dtype=np.bool_)
        keep = np.flatnonzero(varies)
        gone = {
            name: "the same in every run after warm-up"
            for name, does in zip(self.names, varies, strict=True)
            if not does
        }
        groups = {setting: tuple(m for m in members if m not in gone) for setting, members in self.groups.items()}
        return replace(
            self,
            outcome=self.outcome[first:],
            names=tuple(self.names[place] for place in keep),
            values=np.asfortranarray(values[:, keep]),
            rows=self.rows[first:],
            runs=None if self.runs is None else self.runs[first:],
            groups={setting: members for setting, members in groups.items() if members},
            set_aside={**self.set_aside, **gone},
        )
