"""A dot a run: outcomes in the order of the runs, and outcomes against one factor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.ranks import r_squared
from ...tools.statistics.values import FloatArray, finite
from .canvas import Marks, TextCanvas
from .distribution import EMPTY
from .plot import Framed, Plot, PlotAxis, PlotLayout, outcome_axis
from .scale import LARGEST, AxisWindow, CellScale, extent
from .scenes import PlottedOutcomes, slow_of


@dataclass(frozen=True, eq=False)
class RunChart(Plot):
    """Outcomes in run order: spells, drift and warm-up are seen here and not in a distribution."""

    outcomes: PlottedOutcomes
    cut: float | None = None
    name: str = ""

    @property
    def span(self) -> AxisWindow | None:
        """From the first run, 1, to the last."""
        return AxisWindow(0.5, self.outcomes.values.size + 0.5) if finite(self.outcomes.values).size else None

    @property
    def sentence(self) -> str:
        """Say that no run has an outcome."""
        runs = self.outcomes.values.size
        return f"None of {runs} runs has a finite {self.outcomes.name}." if runs else EMPTY

    def layout(self, x: CellScale, cursor: float | None, marks: Marks) -> PlotLayout:
        """Count the runs, and read the one under the cursor."""
        values, name = self.outcomes.values, self.outcomes.name
        level = extent(values[self._inside(x)]) or extent(values)
        assert level is not None  # some value is finite
        failed = values.size - finite(values).size
        title = f"{values.size} runs in order" + (f", {failed} without a finite {name}" if failed else "")
        y = PlotAxis(level, self.outcomes.unit, name)
        legend = _legend(marks, self.outcomes, self.cut).rstrip()
        return PlotLayout(PlotAxis(x.window, "", "run"), y, title, self._reading(cursor), legend)

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Draw one mark for each run, as far as cells allow."""
        inside = self._inside(framed.x)
        numbers = np.arange(1, inside.size + 1, dtype=np.float64)
        _dots(canvas, framed, numbers[inside], self.outcomes.values[inside], self.outcomes, self.cut)

    def _inside(self, x: CellScale) -> np.ndarray:
        numbers = np.arange(1, self.outcomes.values.size + 1)
        return (numbers >= x.window.low) & (numbers <= x.window.high)

    def _reading(self, cursor: float | None) -> str:
        if cursor is None:
            return "arrow keys read a run"
        place = min(max(round(cursor), 1), self.outcomes.values.size) - 1
        value = float(self.outcomes.values[place])
        shown = amount(value, self.outcomes.unit) if np.isfinite(value) else f"no finite {self.outcomes.name}"
        return f"run {place + 1}: {shown}"


@dataclass(frozen=True, eq=False)
class Scatter(Plot):
    """One column against the outcome, run by run, with the line that its R2 is of."""

    name: str
    """Of the column."""
    values: FloatArray
    """Shape (runs,), in step with `outcomes`."""
    outcomes: PlottedOutcomes
    unit: str = ""
    r2: float | None = None
    """Of all runs, where `values` are a sample of them."""
    cut: float | None = None

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        both = np.isfinite(self.values) & np.isfinite(self.outcomes.values)
        x, y = (np.clip(values[both], -LARGEST, LARGEST) for values in (self.values, self.outcomes.values))
        return x, y

    @property
    def span(self) -> AxisWindow | None:
        """All values of the column; None where they are all equal."""
        return None if self.sentence else extent(self._points[0])

    @property
    def sentence(self) -> str:
        """Say why nothing can be held against the outcome; empty where it can."""
        x, _ = self._points
        if not x.size:
            return f"No run has a finite {self.name} and outcome to show."
        return f"{self.name} was {amount(float(x[0]), self.unit)} in every run." if x.min() == x.max() else ""

    def layout(self, x: CellScale, cursor: float | None, marks: Marks) -> PlotLayout:
        """Give R2, and read the runs under the cursor."""
        values, outcomes = self._points
        up = extent(outcomes)
        assert up is not None  # it has a span
        r2 = self.r2 if self.r2 is not None else r_squared(values, outcomes)
        said = "R2 undefined" if r2 is None else f"R2 {r2:.2f}"
        return PlotLayout(
            PlotAxis(x.window, self.unit, self.name[:24]),
            PlotAxis(up, self.outcomes.unit),
            f"{self.name}: {said}, {values.size} runs",
            self._reading(cursor, x.step),
            f"{_legend(marks, self.outcomes, self.cut)}{marks.level} fit",
        )

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Draw the runs and the line."""
        _dots(canvas, framed, *self._points, self.outcomes, self.cut)
        _fitted(canvas, framed, *self._points)

    def _reading(self, cursor: float | None, step: float) -> str:
        if cursor is None:
            return "arrow keys read values; up and down choose a factor"
        near = self.outcomes.values[np.abs(self.values - cursor) <= step / 2]
        near = near[np.isfinite(near)]
        middle = f", median {amount(float(np.median(near)), self.outcomes.unit)}" if near.size else ""
        return f"{self.name} {amount(cursor, self.unit)}: {near.size} runs{middle}"


def _legend(marks: Marks, outcomes: PlottedOutcomes, cut: float | None) -> str:
    """Name what goes upwards, and the marks of the classes and of the cut, if there is one."""
    classes = "" if cut is None else f"{marks.fast_dot} fast  {marks.slow_dot} slow  {marks.cut_row} cut  "
    return f"upwards: {outcome_axis(AxisWindow(0.0, 1.0), outcomes).name}  {classes}"


def _dots(
    canvas: TextCanvas, framed: Framed, x: FloatArray, y: FloatArray, outcomes: PlottedOutcomes, cut: float | None
) -> None:
    """Mark the cut, and the cell of each point; points that are not finite have none, and slow ones hide fast ones."""
    row = -1 if cut is None else framed.row(cut)
    for column in range(framed.left, framed.right + 1) if row >= 0 else ():
        canvas.put(row, column, canvas.marks.cut_row, "cut")
    slow = slow_of(y, outcomes, cut)
    columns, rows = framed.x.places(x), framed.y.places(y)
    seen = (columns >= 0) & (rows >= 0)
    cells = rows * framed.x.cells + columns
    for cell in np.unique(cells[seen & ~slow]).tolist():
        up, along = divmod(cell, framed.x.cells)
        canvas.put(framed.bottom - up, framed.left + along, canvas.marks.fast_dot, "fast")
    for cell in np.unique(cells[seen & slow]).tolist():
        up, along = divmod(cell, framed.x.cells)
        canvas.put(framed.bottom - up, framed.left + along, canvas.marks.slow_dot, "slow")


def _fitted(canvas: TextCanvas, framed: Framed, x: FloatArray, y: FloatArray) -> None:
    middle, size = float(x.mean()), float(np.ptp(x))
    if not size:  # all at the edge
        return
    u = (x - middle) / size
    slope = float(u @ (y - y.mean()) / (u @ u))
    for place in range(framed.x.cells):
        row = framed.row(float(y.mean()) + slope * (framed.x.value(place) - middle) / size)
        if row >= 0:
            canvas.put(row, framed.left + place, canvas.marks.level, "curve")
