"""Tables that sort by a click on a header or by a key: one for a few rows, one that pages through very many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from ...look.messages import ReadPage, TablePage
from ...look.scenes import SmallTable
from ...session_view.view import SessionView
from ..messages import QuestionPut, StepAsked

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


PAGE = 200
"""Rows that are held at a time; more are read when they are wanted."""
READING = "Reading the runs."
MOST_COLUMNS = 60
"""That are shown of a wide table; a terminal shows ten of them."""


class SortedTable(DataTable[Text]):
    """A few rows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "sort", "Sort")]

    _table = SmallTable((), ())
    _order = SortOrder()
    _rows: Sequence[Row] = ()

    def __init__(self, *, fancy: bool, id: str) -> None:
        super().__init__(id=id, zebra_stripes=True, cursor_type="cell", show_row_labels=False)
        self._arrows = ("▲", "▼") if fancy else ("^", "v")

    @property
    def row_at_cursor(self) -> Row:
        """The row that the cursor is in; empty without rows."""
        return self._rows[self.cursor_row] if self.cursor_row < len(self._rows) else ()

    def show(self, table: SmallTable) -> None:
        """Show these rows, sorted as those before."""
        if table != self._table:
            self._table = table
            self._fill(table.header, self._sorted())

    def action_sort(self) -> None:
        self._sort(self.cursor_column)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        self._sort(event.column_index)

    def _sort(self, column: int) -> None:
        if column < len(self._table.header):
            self._order = self._order.toggled(self._table.header[column])
            self._fill(self._table.header, self._sorted())

    def _sorted(self) -> Sequence[Row]:
        if self._order.by not in self._table.header:
            return self._table.rows
        return ordered(self._table.rows, self._table.header.index(self._order.by), self._order.descending)

    def _fill(self, header: tuple[str, ...], rows: Sequence[Row]) -> None:
        """Put rows in; the cursor stays where it is."""
        cursor, self._rows = self.cursor_coordinate, rows
        self.clear(columns=True)
        for name in header:
            arrow = self._arrows[self._order.descending] if name == self._order.by else ""
            self.add_column(Text(f"{shown(name)} {arrow}".rstrip()))
        for row in rows:
            self.add_row(*(Text(shown(cell), justify="left" if isinstance(cell, str) else "right") for cell in row))
        self.cursor_coordinate = Coordinate(
            min(cursor.row, max(len(rows) - 1, 0)), min(cursor.column, max(len(header) - 1, 0))
        )


class PagedTable(SortedTable):
    """Rows of a large table, a page at a time; whoever holds the table is asked for them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "page(1)", "Next page"),
        Binding("p", "page(-1)", "Page before"),
    ]

    DEFAULT_CSS = """
    PagedTable { border-bottom: solid $primary; }
    """

    _header: tuple[str, ...] = ()
    _first = _total = 0

    @property
    def begun(self) -> bool:
        """Whether there is a table, of which a page was read or is on its way."""
        return bool(self._header)

    def begin(self, header: tuple[str, ...]) -> None:
        """Another table: ask for its first page."""
        self.say(READING)
        self._header, self._order = header[:MOST_COLUMNS], SortOrder()
        self._read(0, self._order)

    def say(self, sentence: str) -> None:
        self._header, self._first, self._total = (), 0, 0
        self.border_subtitle = ""
        self._table = SmallTable((sentence,), ())
        self._fill((sentence,), [])

    def put(self, page: TablePage) -> None:
        self._first, self._total, self._order = page.first, page.total, SortOrder(page.by, page.descending)
        last = page.first + len(page.rows)
        self.border_subtitle = f"rows {page.first + 1}-{last} of {page.total}" if page.rows else "no rows"
        rows = [row[: len(self._header)] for row in page.rows]
        self._table = SmallTable(self._header, tuple(rows))
        self._fill(self._header, rows)

    def action_page(self, pages: int) -> None:
        first = self._first + pages * PAGE
        if 0 <= first < self._total:
            self._read(first, self._order)

    def _sort(self, column: int) -> None:
        """All rows are sorted, not those of this page."""
        if column < len(self._header):
            self._read(0, self._order.toggled(self._header[column]))

    def _read(self, first: int, order: SortOrder) -> None:
        self.post_message(QuestionPut(ReadPage(first, PAGE, order.by, order.descending)))


MARKS = {"chosen": "..", "going on": "..", "done": "ok", "failed": "no", "denied": "--"}
HEADER = ("id", "", "step", "s", "result")


class StepsTable(SortedTable):
    """One row a step; enter opens it."""

    def show_steps(self, view: SessionView) -> None:
        """Fill it anew: there are few."""
        rows = tuple(
            (step.call_id, MARKS[step.state], step.title, step.seconds and round(step.seconds, 1), step.summary)
            for step in view.steps
        )
        self.show(SmallTable(HEADER, rows))

    def on_data_table_cell_selected(self) -> None:
        call_id = self.row_at_cursor[0] if self.row_at_cursor else None
        if call_id is not None:
            self.post_message(StepAsked(str(call_id)))
