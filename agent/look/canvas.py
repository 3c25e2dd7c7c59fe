"""A page of characters, each with an ink: what a picture is drawn on, in any terminal."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np

from ...tools.statistics.values import FloatArray

Ink = Literal[
    "plain",
    "faint",
    "fast",
    "slow",
    "curve",
    "cut",
    "cursor",
    "baseline",
    "mitigated",
    "curve-on-fast",
    "curve-on-slow",
    "mitigated-on-baseline",
]
CROSSING: Mapping[Ink, Ink] = {"fast": "curve-on-fast", "slow": "curve-on-slow", "baseline": "mitigated-on-baseline"}
"""A curve over a bar: the cell keeps the colour of the bar behind the mark of the curve, so that both are read."""


class Marks(NamedTuple):
    """Characters of one kind of terminal; what has another colour has another character too."""

    bar: str
    parts: str
    """Of a bar, from nothing to all but a full cell."""
    slow_bar: str
    fast_dot: str
    slow_dot: str
    curve: str
    cut: str
    cut_row: str
    cursor: str
    upright: str
    level: str
    corner: str
    branch: str
    last_branch: str
    faint_bar: str
    beyond: str


FANCY = Marks("█", " ▁▂▃▄▅▆▇", "▒", "•", "×", "•", "┃", "═", "┊", "│", "─", "└", "├─ ", "└─ ", "░", "»")
ASCII = Marks("#", " .:", "x", ".", "x", "o", "!", "=", ":", "|", "-", "+", "|- ", "`- ", ".", ">")


class RowSpan(NamedTuple):
    """Part of a row."""

    row: int
    first: int
    last: int


class TextSpan(NamedTuple):
    """Neighbouring characters of one ink."""

    text: str
    ink: Ink


class TextCanvas:
    """Rows of cells; what falls outside is left out, so that no size is too small."""

    def __init__(self, width: int, height: int, fancy: bool) -> None:
        self.width, self.height = max(width, 0), max(height, 0)
        self.marks = FANCY if fancy else ASCII
        self._cells: list[list[tuple[str, Ink]]] = [[(" ", "plain")] * self.width for _ in range(self.height)]

    def put(self, row: int, column: int, mark: str, ink: Ink) -> None:
        """Put one character."""
        if 0 <= row < self.height and 0 <= column < self.width:
            self._cells[row][column] = (mark, ink)

    def write(self, row: int, column: int, words: str, ink: Ink = "plain") -> None:
        """Write words from left to right; what the terminal cannot show is a question mark."""
        shown = words if self.marks is FANCY else words.encode("ascii", "replace").decode()
        for place, letter in enumerate(shown):
            self.put(row, column + place, letter if letter.isprintable() else " ", ink)

    def upright(self, column: int, top: int, bottom: int, mark: str, ink: Ink) -> None:
        """Draw a line from top to bottom, both included."""
        for row in range(top, bottom + 1):
            self.put(row, column, mark, ink)

    def bar(self, column: int, top: int, bottom: int, share: float, ink: Ink, mark: str = "") -> None:
        """Draw a bar that fills a share of the rows; one that is not empty is seen. A `mark` fills whole cells only."""
        cells = min(max(share, 0.0), 1.0) * (bottom - top + 1)
        if cells <= 0:
            return
        parts = self.marks.parts
        full = round(cells) if mark else int(cells)
        part = 0 if mark else int((cells - full) * len(parts))
        for row in range(bottom, bottom - full, -1):
            self.put(row, column, mark or self.marks.bar, ink)
        if part or not full:
            self.put(bottom - full, column, mark or parts[max(part, 1)], ink)

    def line(self, left: int, top: int, bottom: int, shares: FloatArray, mark: str, ink: Ink) -> None:
        """Draw a curve of one share a column; steep parts are joined, and bars stay seen behind it."""
        rows = bottom - np.round(np.clip(shares, 0, 1) * (bottom - top)).astype(int)
        before = int(rows[0]) if rows.size else 0
        for place, row in enumerate(rows.tolist()):
            low, high = sorted((row, before + (row > before) - (row < before) if place else row))
            for here in range(low, high + 1):
                self._cross(here, left + place, mark, ink, base=here == bottom)
            before = row

    def _cross(self, row: int, column: int, mark: str, ink: Ink, base: bool) -> None:
        """Put a mark of a curve; less than half a cell of a bar gives way to it, but for what stands on the axis."""
        if not (0 <= row < self.height and 0 <= column < self.width):
            return
        there, below = self._cells[row][column]
        little = there in self.marks.parts[: len(self.marks.parts) // 2]
        if below not in CROSSING or (little and not base):
            self.put(row, column, mark, ink)
        elif not little:
            self.put(row, column, mark, CROSSING[below])

    def runs(self, row: int) -> list[TextSpan]:
        """One row, as pieces of one ink each."""
        return [
            TextSpan("".join(mark for mark, _ in part), ink) for ink, part in groupby(self._cells[row], itemgetter(1))
        ]

    def changed(self, other: TextCanvas) -> list[RowSpan]:
        """What differs from another canvas of the same size: only that is drawn again."""
        spans = []
        for row, (mine, theirs) in enumerate(zip(self._cells, other._cells, strict=True)):
            if mine != theirs:
                places = [place for place, (one, two) in enumerate(zip(mine, theirs, strict=True)) if one != two]
                spans.append(RowSpan(row, places[0], places[-1]))
        return spans

    def text(self) -> str:
        """Everything without inks, a line a row."""
        return "\n".join("".join(mark for mark, _ in row).rstrip() for row in self._cells)
