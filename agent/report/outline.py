"""What was understood of a recorded table, in words for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...tools.document import Facts, Note, Section, Table
from ...tools.recorded.columns import listed
from ...tools.recorded.read import ColumnOutline, Outline
from ..render.text import blocks_text
from .numbers import number

COLUMNS = ("column", "kind", "role", "unit", "missing", "distinct", "min", "median", "max")
LONGEST = 100
"""Characters of one value that describes the system."""


def text(found: Outline, saved: Sequence[str], following: str) -> str:
    """Give format, outcome and order, the columns, what is left out, the system, and how to go on."""
    aside = tuple((column.name, column.set_aside) for column in found.columns if column.set_aside)
    facts = tuple((key, " ".join(value.split())[:LONGEST]) for key, value in found.system.items())
    words = blocks_text(
        (
            *_head(found),
            Table(COLUMNS, [_row(column) for column in found.columns]),
            Section("Set aside", (Facts(aside),), folded=True),
            Section("System under test", (Facts(facts),), folded=True),
            *map(Note, found.notes),
        )
    )
    return "\n".join([words, "", *(f"Saved: {path}" for path in saved), f"Next:  {following}"])


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
