"""A dot a run: outcomes in the order of the runs, and outcomes against one factor."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.values import BoolArray, FloatArray, finite, r_squared
from .canvas import LARGEST, AxisWindow, CellScale, Ink, Marks, TextCanvas, extent
from .distribution import EMPTY
from .plot import Framed, Plot, PlotAxis, PlotLayout, outcome_axis
from .scenes import PlottedOutcomes, slow_of


class _Dots(Plot):
    """One mark for each run, as far as cells allow."""

    outcomes: PlottedOutcomes
    cut: float | None

    @property
    @abstractmethod
    def _points(self) -> tuple[FloatArray, FloatArray]:
        """Where they lie; what is not finite lies nowhere."""

    def _legend(self, marks: Marks) -> str:
        """Name what goes upwards, and the marks of the classes and of the cut, if there is one."""
        classes = f"{marks.fast_dot} fast  {marks.slow_dot} slow  {marks.cut_row} cut  " * (self.cut is not None)
        return f"upwards: {outcome_axis(AxisWindow(0.0, 1.0), self.outcomes).name}  {classes}"

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Mark the cut, and the cell of each run; slow ones hide fast ones."""
        row = -1 if self.cut is None else framed.row(self.cut)
        for column in range(framed.left, framed.right + 1) if row >= 0 else ():
            canvas.put(row, column, canvas.marks.cut_row, "cut")
        x, y = self._points
        slow = slow_of(y, self.outcomes, self.cut)
        columns, rows = framed.x.places(x), framed.y.places(y)
        seen, cells = (columns >= 0) & (rows >= 0), rows * framed.x.cells + columns
        dots: tuple[tuple[BoolArray, str, Ink], ...] = (
            (~slow, canvas.marks.fast_dot, "fast"),
            (slow, canvas.marks.slow_dot, "slow"),
        )
        for among, dot, ink in dots:
            for up, along in (divmod(cell, framed.x.cells) for cell in np.unique(cells[seen & among]).tolist()):
                canvas.put(framed.bottom - up, framed.left + along, dot, ink)


@dataclass(frozen=True, eq=False)
class RunChart(_Dots):
    """Outcomes in run order: spells, drift and warm-up are seen here and not in a distribution."""

    outcomes: PlottedOutcomes
    cut: float | None = None
    name: str = ""

    @property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        return np.arange(1.0, self.outcomes.values.size + 1), self.outcomes.values

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
        level = extent(values[x.places(self._points[0]) >= 0]) or extent(values)
        assert level is not None  # some value is finite
        failed = values.size - finite(values).size
        title = f"{values.size} runs in order" + (f", {failed} without a finite {name}" if failed else "")
        y = PlotAxis(level, self.outcomes.unit, name)
        return PlotLayout(PlotAxis(x.window, "", "run"), y, title, self._reading(cursor), self._legend(marks).rstrip())

    def _reading(self, cursor: float | None) -> str:
        if cursor is None:
            return "arrow keys read a run"
        place = min(max(round(cursor), 1), self.outcomes.values.size) - 1
        value = float(self.outcomes.values[place])
        shown = amount(value, self.outcomes.unit) if np.isfinite(value) else f"no finite {self.outcomes.name}"
        return f"run {place + 1}: {shown}"


@dataclass(frozen=True, eq=False)
class Scatter(_Dots):
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
            f"{self._legend(marks)}{marks.level} fit",
        )

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Draw the runs and the line."""
        super().mark(canvas, framed)
        _fitted(canvas, framed, *self._points)

    def _reading(self, cursor: float | None, step: float) -> str:
        if cursor is None:
            return "arrow keys read values; up and down choose a factor"
        near = self.outcomes.values[np.abs(self.values - cursor) <= step / 2]
        near = near[np.isfinite(near)]
        middle = f", median {amount(float(np.median(near)), self.outcomes.unit)}" if near.size else ""
        return f"{self.name} {amount(cursor, self.unit)}: {near.size} runs{middle}"


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
