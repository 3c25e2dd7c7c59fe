"""Columns of a table before any run is chosen: numbers, settings, and what is neither."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from .columns import listed, shortened
from .outcome import unit_columns
from .quantity import Mixed, are_moments, parse
from .recorded import RecordedRuns
from .shapes import ColumnOptions

FEW = 20
"""A text that differs in every one of more runs than this names them."""
MOST_VALUES = 100
"""Values that a text setting may have: each becomes a column."""


@dataclass
class ColumnClasses:
    """What each column of a table is."""

    numbers: dict[str, pl.Series] = field(default_factory=dict)
    categories: dict[str, pl.Series] = field(default_factory=dict)
    """Text settings: which value each row has, "missing" included."""
    settings: set[str] = field(default_factory=set)
    shares: set[str] = field(default_factory=set)
    """Columns that hold true and false."""
    units: dict[str, str] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)
    moments: list[str] = field(default_factory=list)
    """Columns that give dates or times of day."""
    warnings: list[str] = field(default_factory=list)


def understand(recorded: RecordedRuns, wanted: ColumnOptions, outcome: str, order: str | None) -> ColumnClasses:
    """Sort the columns into numbers, text settings and what is set aside, with the reason."""
    known = ColumnClasses(units=dict(recorded.units))
    by_format = {name for name, role in recorded.roles.items() if role == "setting"}
    known.settings = (by_format | set(wanted.settings)) - {*wanted.group, *wanted.exclude, outcome}
    known.aside |= dict.fromkeys(recorded.left_out, "left out as asked")
    for column in recorded.frame:
        name = column.name
        reason = _beforehand(recorded, wanted, name, outcome, order)
        if name == outcome:
            continue
        if reason and name not in wanted.settings:
            known.aside[name] = reason
        else:
            _sort(known, column)
    return known


def _beforehand(recorded: RecordedRuns, wanted: ColumnOptions, name: str, outcome: str, order: str | None) -> str:
    """Say why a column is set aside whatever its values are."""
    if name in wanted.exclude:
        return "left out as asked"
    if name in wanted.group:
        return "the runs are grouped by it"
    if name in unit_columns(outcome):
        return "it gives the unit of the outcome"
    if name == order:
        return "it gives the order of the runs"
    role, words = recorded.roles.get(name), recorded.descriptions.get(name, "")
    if role == "consequence":
        return "a consequence: it changes because a run is slow" + (f" ({words.rstrip('.')})" if words else "")
    if role in ("id", "order"):
        return "it names the run or its circumstances" + (f" ({words.rstrip('.')})" if words else "")
    return ""


def _sort(known: ColumnClasses, column: pl.Series) -> None:
    name, dtype = column.name, column.dtype
    if dtype.is_numeric():
        known.numbers[name] = column
    elif dtype == pl.Boolean:
        _truth(known, column)
    elif dtype == pl.Duration:
        known.numbers[name], known.units[name] = column.dt.total_microseconds() / 1e6, "s"
    elif dtype.is_temporal():
        known.moments.append(name)
        known.aside[name] = "a date or time: it says when a run was made, not why it was slow"
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        _text(known, column.cast(pl.String))
    else:
        known.aside[name] = "empty" if dtype == pl.Null else f"no numbers ({dtype})"


def _truth(known: ColumnClasses, column: pl.Series) -> None:
    if column.name in known.settings:
        known.categories[column.name] = column.cast(pl.String).fill_null("missing")
    else:
        known.numbers[column.name] = column.cast(pl.UInt8)
        known.shares.add(column.name)


def _text(known: ColumnClasses, column: pl.Series) -> None:
    name = column.name
    if are_moments(column) and name not in known.settings:
        known.moments.append(name)
        known.aside[name] = "a date or time: it says when a run was made, not why it was slow"
        return
    read = parse(column)
    if isinstance(read, Mixed):
        known.aside[name] = f"it mixes units ({listed([unit or 'no unit' for unit in read.units])}): convert it to one"
    elif read is not None:
        known.numbers[name] = read.numbers
        known.units[name] = read.unit or known.units.get(name, "")
        if read.unread:
            known.warnings.append(f"In {name} these count as missing: {listed(read.unread, 5)}.")
    elif name in known.settings:
        known.categories[name] = column.fill_null("missing")
    else:
        known.aside[name] = _advice(column)


def _advice(column: pl.Series) -> str:
    values = column.drop_nulls().n_unique()
    if values == 0:
        return "empty"
    if values == 1:
        return f"constant (always {shortened(str(column.drop_nulls()[0]).strip()) or 'blank'})"
    if values == len(column) > FEW:
        return "text, different in every run: it names the run"
    if values > MOST_VALUES:
        return f"text with {values} values: give it with --group if it says what was run"
    return f"text with {values} values: give it with --settings if it was varied on purpose, or with --group"
