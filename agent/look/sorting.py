"""Rows in the order of one column: numbers as numbers, what is missing last, equal ones as they stood."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

Cell = str | float | None
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class SortOrder:
    """By which column, and which way; None: as the table stands."""

    by: str | None = None
    descending: bool = False

    def toggled(self, column: str) -> SortOrder:
        """Ascending at first, then descending, then as the table stands."""
        if column != self.by:
            return SortOrder(column)
        return SortOrder() if self.descending else SortOrder(column, True)


def ordered(rows: Iterable[Row], place: int, descending: bool = False) -> list[Row]:
    """Sort by one cell of each row."""
    every = list(rows)
    there = [row for row in every if not _missing(row[place])]
    return sorted(there, key=lambda row: _key(row[place]), reverse=descending) + [
        row for row in every if _missing(row[place])
    ]


def shown(cell: Cell) -> str:
    """Write a cell; numbers with five digits."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return "".join(letter if letter.isprintable() else " " for letter in cell)
    return f"{cell}" if isinstance(cell, int) else f"{cell:.5g}"


def _missing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _key(cell: Cell) -> tuple[bool, float, str]:
    return (True, 0.0, cell) if isinstance(cell, str) else (False, float(cell or 0), "")
