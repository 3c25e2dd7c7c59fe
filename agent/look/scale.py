"""Values and cells: which part of an axis is shown, and where its round numbers lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
