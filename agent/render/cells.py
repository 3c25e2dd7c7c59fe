"""Cells of a table as they are written, and texts that stay in one line: the same for every renderer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...tools.document import SHARE, Cell, Table, TableColumn
from ..report.numbers import ABSENT, number, percent, scale
from ..terminal import printable

_SPAN = re.compile(r"((?<!`)`[^`]+`(?!`)|https?://[^\s<>`|\"']+(?<![.,;:)]))")
_BLANKS = re.compile(r"\s+")
_BESIDE_DIGITS = "+-<≤x–"
"""What may stand before the first digit of a number that is written as text."""


class WrittenTable(NamedTuple):
    """A table of words; `right` tells which columns are of numbers, `capitals` is its head for a terminal."""

    head: tuple[str, ...]
    capitals: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]


def one_line(text: str) -> str:
    """Join lines, drop what would steer a terminal, and leave one of several blanks, all of them in code spans."""
    return "".join(pieces(text))


def pieces(text: str) -> list[str]:
    """Split a text in one line into words and what is kept as it is: each second piece is a code span or an address."""
    parts = _SPAN.split(printable(text).strip())
    return [part if place % 2 else _BLANKS.sub(" ", part) for place, part in enumerate(parts)]


def written(table: Table) -> WrittenTable:
    """Write the cells of a table; numbers of one column are in one unit."""
    columns = [TableColumn(column) if isinstance(column, str) else column for column in table.columns]
    cells = [[row[place] for row in table.rows] for place in range(len(columns))]
    texts = [_written(column, its) for column, its in zip(columns, cells, strict=True)]
    rows = tuple(tuple(column[place] for column in texts) for place in range(len(table.rows)))
    head = tuple(one_line(column.name) for column in columns)
    capitals = tuple(name if one.verbatim else name.upper() for name, one in zip(head, columns, strict=True))
    return WrittenTable(head, capitals, rows, tuple(map(_numeric, texts)))


def _written(column: TableColumn, cells: Sequence[Cell]) -> list[str]:
    sizes = [abs(cell) for cell in cells if isinstance(cell, int | float) and math.isfinite(cell)]
    unit = scale(column.unit, max(sizes, default=0.0))

    def show(cell: Cell) -> str:
        if isinstance(cell, str):
            return one_line(cell)
        if column.unit == SHARE or cell is None:
            return percent(cell, column.digits)
        return f"{number(cell * unit.factor, column.digits)} {unit.unit}".rstrip()

    return [show(cell) for cell in cells]


def _numeric(texts: Sequence[str]) -> bool:
    said = [text for text in texts if text not in ("", ABSENT)]
    return bool(said) and all(text.lstrip(_BESIDE_DIGITS).lstrip()[:1].isdigit() for text in said)
