"""What was understood of a recorded table, in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...tools.recorded.columns import listed
from ...tools.recorded.outline import ColumnOutline, Outline
from ..terminal import folded, table
from .numbers import number

HEADER = ("COLUMN", "KIND", "ROLE", "UNIT", "MISSING", "DISTINCT", "MIN", "MEDIAN", "MAX")
MOST_COLUMNS = 60
"""Columns that are shown; --json has all."""
MOST_ASIDE = 30
MOST_SYSTEM = 12
LONGEST = 100
"""Characters of one value that describes the system."""


def text(found: Outline, saved: Sequence[str], following: str) -> str:
    """Give format, outcome and order, the columns, what is left out, the system, and how to go on."""
    rows = [_row(column) for column in found.columns[:MOST_COLUMNS]]
    more = len(found.columns) - len(rows)
    aside = [f"{column.name}: {column.set_aside}" for column in found.columns if column.set_aside]
    facts = [f"{key}: {' '.join(value.split())[:LONGEST]}" for key, value in found.system.items()]
    parts = [
        folded("\n".join(_head(found))),
        table(HEADER, rows) + (f"\n... and {more} columns more: --json shows them all." if more > 0 else ""),
        _first("Set aside:", aside, MOST_ASIDE, "more"),
        _first("System under test:", facts, MOST_SYSTEM, "facts more"),
        folded("\n".join(f"Note: {note}" for note in found.notes)),
        "\n".join([*(f"Saved: {path}" for path in saved), f"Next:  {following}"]),
    ]
    return "\n\n".join(filter(None, parts))


def _head(found: Outline) -> Iterator[str]:
    counted = "" if found.runs in (None, found.rows) else f", of which {found.runs} count"
    yield f"{found.file}: {found.format}, {found.rows} rows{counted}, {len(found.columns)} columns."
    yield _outcome(found)
    if found.group:
        yield f"Each of the {found.groups} groups by {listed(found.group)} is looked at on its own."
    yield f"Order: by {found.order}." if found.order else "Order: that of the file."


def _outcome(found: Outline) -> str:
    if found.outcome is None:
        which = listed(found.candidates, last="or") if found.candidates else "none, for no column of numbers varies"
        return f"Outcome: not known; it may be {which}."
    unit = f" in {found.unit}" if found.unit else ""
    if found.assumed:
        return f"Outcome: {found.outcome}{unit}. {found.assumed}"
    return f"Outcome: {found.outcome}{unit}, {'lower' if found.lower_is_better else 'higher'} is better."


def _row(column: ColumnOutline) -> tuple[str, ...]:
    counts = (str(column.missing) if column.missing else "", str(column.distinct))
    return (
        column.name,
        column.kind,
        column.role or "-",
        column.unit,
        *counts,
        *("" if value is None else number(value, 6) for value in (column.low, column.median, column.high)),
    )


def _first(head: str, lines: Sequence[str], most: int, more: str) -> str:
    rest = [f"  ... and {len(lines) - most} {more}: --json shows them all."] if len(lines) > most else []
    return "\n".join([head, *(f"  {line}" for line in lines[:most]), *rest]) if lines else ""
