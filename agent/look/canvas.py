"""A page of characters, each with an ink: what a picture is drawn on, in any terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...tools.amount import TIME_UNITS
from ...tools.statistics.values import FloatArray, IntArray, finite

LARGEST = 1e300
"""Beyond it differences overflow; such values are drawn at the edge."""
SMALLEST = 1e-290
"""A window is at least that wide: the width of a cell of a narrower one may underflow to 0."""
LEAST_SHARE = 1e-9
"""Of the size of the values, that a window stays wide: below it only rounding differs."""


@dataclass(frozen=True)
class AxisWindow:
    """The part of an axis that is shown."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low

    def zoomed(self, factor: float, about: float) -> AxisWindow:
        """Show less (factor above 1) or more, `about` staying where it is."""
        least = LEAST_SHARE * max(abs(self.low), abs(self.high), SMALLEST)
        width = min(max(self.width / factor, least), 2 * LARGEST)
        share = min(max((about - self.low) / self.width, 0.0), 1.0)
        low = min(max(self.low, min(about, self.high)) - share * width, LARGEST)
        return AxisWindow(low, low + width)

    def panned(self, share: float) -> AxisWindow:
        """Move by a share of the width."""
        step = share * self.width
        return AxisWindow(self.low + step, self.high + step)

    def holding(self, value: float) -> AxisWindow:
        """Move as little as it takes to show a value."""
        if value < self.low:
            return AxisWindow(value, value + self.width)
        return AxisWindow(value - self.width, value) if value > self.high else self


@dataclass(frozen=True)
class CellScale:
    """A window laid over a row of cells."""

    window: AxisWindow
    cells: int

    def places(self, values: ArrayLike) -> IntArray:
        """Cell of each value; -1 where it is not shown."""
        x = np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)
        low, high = self.window.low, self.window.high
        with np.errstate(invalid="ignore"):
            inside = (x >= low) & (x <= high)
            share = (np.where(inside, x, low) - low) / self.window.width
        return np.where(inside, np.minimum((share * self.cells).astype(np.int64), self.cells - 1), -1)

    def place(self, value: float) -> int:
        """Cell of one value; -1 where it is not shown."""
        return int(self.places([value])[0])

    def value(self, cell: int) -> float:
        """Value in the middle of a cell."""
        return self.window.low + (cell + 0.5) / self.cells * self.window.width

    @property
    def step(self) -> float:
        """What one cell spans."""
        return self.window.width / self.cells


@dataclass(frozen=True)
class Tick:
    """A round number on an axis."""

    value: float
    words: str


def extent(values: ArrayLike) -> AxisWindow | None:
    """Span all finite values, a little widened; None where there are none."""
    shown = np.clip(finite(values), -LARGEST, LARGEST)
    if not shown.size:
        return None
    low, high = float(shown.min()), float(shown.max())
    edge = max(0.02 * (high - low), 1e-6 * max(abs(low), abs(high)), SMALLEST)
    if low == high:
        edge = max(0.05 * abs(low), 1e-12)
    return AxisWindow(low - edge, high + edge)


def ticks(window: AxisWindow, most: int, unit: str) -> tuple[Tick, ...]:
    """At most so many round numbers, 1, 2 or 5 times a power of ten apart, all in one unit."""
    size, name = _unit(window, unit)
    low, width = window.low / size, window.width / size
    step = _round_step(width / max(most, 1))
    if not (math.isfinite(step) and step > 0):
        return ()
    first = math.ceil(low / step)
    values = [number * step for number in range(first, first + most) if number * step <= low + width]
    digits = min(max(0, -math.floor(math.log10(step) + 1e-9)), 12)
    return tuple(Tick(value * size, f"{_number(value, digits)} {name}".rstrip()) for value in values)


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if abs(value) < 1e7 else f"{value:.4g}"


def _unit(window: AxisWindow, unit: str) -> tuple[float, str]:
    """Seconds in the unit that suits the greater end."""
    if unit != "s":
        return 1.0, ""
    largest = max(abs(window.low), abs(window.high))
    return next((scale for scale in TIME_UNITS if largest >= scale[0]), TIME_UNITS[-1])


def _round_step(least: float) -> float:
    if not (least > 0 and math.isfinite(least)):
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least), 10 * power)


def counts(values: FloatArray, scale: CellScale) -> IntArray:
    """Values in each cell, shape (cells,); those outside the window are not counted."""
    places = scale.places(values)
    return np.bincount(places[places >= 0], minlength=scale.cells).astype(np.int64)


def evenly(values: Sequence[Tick], scale: CellScale, room: int) -> list[tuple[int, str]]:
    """Cells and words of the ticks that fit side by side in a row of `room` cells."""
    placed: list[tuple[int, str]] = []
    free = 0
    for tick in values:
        place = scale.place(tick.value)
        start = min(max(place - len(tick.words) // 2, 0), max(room - len(tick.words), 0))
        above = start <= place < start + len(tick.words)  # else it would stand below another value
        if start >= free and above and len(tick.words) <= room:
            placed.append((start, tick.words))
            free = start + len(tick.words) + 1
    return placed


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
