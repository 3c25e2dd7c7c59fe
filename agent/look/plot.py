"""A figure as characters: a line of words above, axes with round numbers, a line that reads values below."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...tools.statistics.values import FloatArray, IntArray, finite
from ..shown_range import Shown, shown_range
from .canvas import LARGEST, AxisWindow, CellScale, Marks, TextCanvas, counts, evenly, extent, ticks
from .scenes import PlottedOutcomes

LABEL = 10
"""Cells of the numbers beside an upright axis."""
LEAST_WIDTH, LEAST_HEIGHT = 24, 7
"""Below them there are words and no plot."""
BETWEEN = 8
"""Cells that a number below the axis is given at least."""
LONGEST = 16
"""Letters of a name beside an axis."""
APART = "  "
"""Between the entries of a legend."""
TOO_SMALL = "Too small for a plot: make the window larger."


@dataclass(frozen=True)
class PlotAxis:
    """What one direction of a plot shows."""

    window: AxisWindow
    unit: str = ""
    name: str = ""


@dataclass(frozen=True)
class PlotLayout:
    """What stands around a plot; `legend` is cut only between its entries, which stand `APART`."""

    x: PlotAxis
    y: PlotAxis
    title: str
    reading: str
    legend: str = ""


@dataclass(frozen=True)
class Framed:
    """Where the plot lies on its canvas."""

    x: CellScale
    y: CellScale
    left: int
    top: int
    bottom: int

    @property
    def right(self) -> int:
        """Last column."""
        return self.left + self.x.cells - 1

    def row(self, value: float) -> int:
        """Row of a value; -1 where it is not shown."""
        place = self.y.place(value)
        return -1 if place < 0 else self.bottom - place

    def column(self, value: float) -> int:
        """Column of a value; -1 where it is not shown."""
        place = self.x.place(value)
        return -1 if place < 0 else self.left + place


@dataclass(frozen=True)
class Picture:
    """A canvas that is done; `framed` is None where only words were written."""

    canvas: TextCanvas
    framed: Framed | None = None

    def x_at(self, column: int) -> float | None:
        """Value under a column of the canvas; None beside the plot."""
        if self.framed is None or not self.framed.left <= column <= self.framed.right:
            return None
        return self.framed.x.value(column - self.framed.left)


class TextFigure(ABC):
    """What a view shows: it is told apart from those beside it by its name."""

    name: str
    asks = False
    """Whether Enter leads from it to something else."""

    @property
    def span(self) -> AxisWindow | None:
        """How far its axis goes; None: there is none to zoom or read."""
        return None

    @abstractmethod
    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Draw it; of an axis the window, None for all of it, and the value under the cursor."""


@dataclass(frozen=True)
class Sentence(TextFigure):
    """Why there is no figure."""

    text: str
    name: str = ""

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Fold it into the canvas."""
        return words(canvas, self.text)


class Plot(TextFigure):
    """A figure with axes. Its `span` is None where there is nothing to plot, for the reason in `sentence`."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """Say why there is no plot."""

    @abstractmethod
    def layout(self, x: CellScale, cursor: float | None, marks: Marks) -> PlotLayout:
        """Say what stands around the plot of this part of the axis."""

    @abstractmethod
    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Draw what stands within the frame."""

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Draw frame, marks and cursor, or the sentence."""
        span = self.span
        if span is None:
            return words(canvas, self.sentence)
        if canvas.width < LEAST_WIDTH or canvas.height < LEAST_HEIGHT:
            return words(canvas, TOO_SMALL)
        x = CellScale(window or span, canvas.width - min(LABEL, canvas.width // 4) - 1)
        framed = _framed(canvas, x, self.layout(x, cursor, canvas.marks))
        self.mark(canvas, framed)
        column = -1 if cursor is None else framed.column(cursor)
        if column >= 0:
            canvas.upright(column, framed.top, framed.bottom, canvas.marks.cursor, "cursor")
        return Picture(canvas, framed)


class Clipped(NamedTuple):
    """The axis of a distribution without its far values, which are counted in a cell of their own at its end."""

    window: AxisWindow
    shown: Shown

    def counts(self, values: FloatArray, scale: CellScale) -> IntArray:
        """Values in each cell; those beyond are in the first and the last one, unless somebody zooms."""
        found = counts(values, scale)
        if scale.window == self.window:
            found[0] += int((values < self.window.low).sum())
            found[-1] += int((values > self.window.high).sum())
        return found

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Mark on the axis the cells that hold what lies beyond."""
        if framed.x.window != self.window:
            return
        for runs, column in ((self.shown.below, framed.left), (self.shown.above, framed.right)):
            if runs:
                canvas.put(framed.bottom + 1, column, canvas.marks.beyond, "cut")

    def legend(self, entries: str, x: CellScale, marks: Marks, unit: str) -> str:
        """Say after the other entries how many values the marked cells hold, and how far these go."""
        note = self.shown.note(unit) if x.window == self.window else ""
        return f"{entries}{APART}{marks.beyond} {note}" if note else entries


def clipped(*columns: FloatArray) -> Clipped | None:
    """Choose what is shown of all finite values, far ones aside; None where there are none."""
    values = np.clip(np.concatenate([finite(column) for column in columns]), -LARGEST, LARGEST)
    if not values.size:
        return None
    shown = shown_range(values)
    window = extent(values[(values >= shown.low) & (values <= shown.high)])
    return None if window is None else Clipped(window, shown)


def _framed(canvas: TextCanvas, x: CellScale, layout: PlotLayout) -> Framed:
    heads = headed(layout.title, layout.legend, canvas.width)[: canvas.height - LEAST_HEIGHT + 1]
    for row, line in enumerate(heads):
        canvas.write(row, 0, line)
    canvas.write(canvas.height - 1, 0, layout.reading)
    top, bottom = len(heads), canvas.height - 4
    y = CellScale(layout.y.window, bottom - top + 1)
    framed = Framed(x, y, canvas.width - x.cells, top, bottom)
    _upright(canvas, framed, layout.y)
    level_axis(canvas, framed, layout.x)
    return framed


def headed(title: str, legend: str, width: int) -> list[str]:
    """Lay out title and legend: in one line where there is room, else the legend below, folded between its entries."""
    lines = textwrap.wrap(title, width)
    for entry in filter(None, legend.split(APART)):
        if lines and len(lines[-1]) + len(APART) + len(entry) <= width:
            lines[-1] += APART + entry
        else:
            lines.append(entry)
    one = f"{title}{APART}{legend}"
    return [one] if len(one) <= width else lines


def outcome_axis(window: AxisWindow, outcomes: PlottedOutcomes) -> PlotAxis:
    """Name the outcome, as far as there is room, with the unit where the numbers do not carry it."""
    unit = "" if outcomes.unit in ("", "s") else f" ({outcomes.unit})"
    return PlotAxis(window, outcomes.unit, f"{outcomes.name[:LONGEST]}{unit}")


def words(canvas: TextCanvas, sentence: str) -> Picture:
    """Fold a sentence into the canvas."""
    folded = textwrap.wrap(sentence, max(canvas.width, 1), break_long_words=False, break_on_hyphens=False)
    for row, line in enumerate(folded):
        canvas.write(row, 0, line)
    return Picture(canvas)


def _upright(canvas: TextCanvas, framed: Framed, axis: PlotAxis) -> None:
    canvas.upright(framed.left - 1, framed.top, framed.bottom, canvas.marks.upright, "faint")
    for tick in ticks(axis.window, max(framed.y.cells // 2, 2), axis.unit):
        row, label = framed.row(tick.value), tick.words[: framed.left - 2]
        canvas.write(row, framed.left - 2 - len(label), label, "faint")


def level_axis(canvas: TextCanvas, framed: Framed, axis: PlotAxis) -> None:
    """Draw an axis below a plot."""
    row = framed.bottom + 1
    canvas.put(row, framed.left - 1, canvas.marks.corner, "faint")
    for column in range(framed.left, framed.right + 1):
        canvas.put(row, column, canvas.marks.level, "faint")
    name = f" {axis.name}" if axis.name else ""
    room = framed.x.cells - len(name)
    for place, label in _numbers(framed.x, axis, room):
        canvas.write(row + 1, framed.left + place, label, "faint")
    canvas.write(row + 1, framed.right + 1 - len(name), name, "faint")


def _numbers(scale: CellScale, axis: PlotAxis, room: int) -> list[tuple[int, str]]:
    """Place as many round numbers as stand apart in a row of `room` cells."""
    for most in range(max(room // BETWEEN, 2), 2, -1):
        every = ticks(axis.window, most, axis.unit)
        placed = evenly(every, scale, room)
        if len(placed) >= sum(scale.place(one.value) + len(one.words) // 2 < room for one in every):
            return placed
    return evenly(ticks(axis.window, 2, axis.unit), scale, room)
