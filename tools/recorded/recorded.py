"""A run table that somebody recorded, with what its format knows about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from .whole import RecordedFiles


@dataclass(frozen=True)
class RecordedRuns:
    """One row a run, in the order of the file."""

    frame: pl.DataFrame
    """The values as they stand in the file."""
    source: str
    """The path as the user gave it."""
    format: str
    outcome: str | None = None
    """The column that this format means as outcome; None: the user must name it."""
    lower_is_better: Mapping[str, bool] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    """`outcome`, `factor`, `consequence`, `setting`, `order` or `id`, where the format knows."""
    levels: frozenset[str] = frozenset()
    """Columns that do not add up over a run, so that dividing them by its time says nothing."""
    rates: frozenset[str] = frozenset()
    """As `layers.schema.Column.rate`."""
    most_us: Mapping[str, float] = field(default_factory=dict)
    """As `layers.schema.Column.most_us`."""
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
