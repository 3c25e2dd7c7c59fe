"""The frame of a plot: a line of words above, axes with round numbers, a line that reads values below."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from .canvas import TextCanvas
from .scale import AxisWindow, CellScale, evenly, ticks
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


def frame(canvas: TextCanvas, x: PlotAxis, y: PlotAxis, title: str, reading: str, legend: str = "") -> Framed | None:
    """Draw title, legend, axes and reading; None where there is no room for a plot."""
    if canvas.width < LEAST_WIDTH or canvas.height < LEAST_HEIGHT:
        words(canvas, TOO_SMALL)
        return None
    heads = headed(title, legend, canvas.width)[: canvas.height - LEAST_HEIGHT + 1]
    for row, line in enumerate(heads):
        canvas.write(row, 0, line)
    canvas.write(canvas.height - 1, 0, reading)
    top, bottom, left = len(heads), canvas.height - 4, min(LABEL, canvas.width // 4) + 1
    framed = Framed(CellScale(x.window, canvas.width - left), CellScale(y.window, bottom - top + 1), left, top, bottom)
    _upright(canvas, framed, y)
    _level(canvas, framed, x)
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


def _level(canvas: TextCanvas, framed: Framed, axis: PlotAxis) -> None:
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
