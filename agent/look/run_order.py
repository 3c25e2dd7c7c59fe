"""Outcomes in the order of the runs: spells, drift and warm-up are seen here and not in a distribution."""

from __future__ import annotations

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.values import finite
from .canvas import TextCanvas
from .distribution import EMPTY, Cutting
from .frame import Picture, PlotAxis, frame, outcome_axis, words
from .scale import AxisWindow, extent
from .scatter import class_marks, cut_line, dots, pointed, slow_of
from .scenes import PlottedOutcomes


def run_order(
    canvas: TextCanvas,
    outcomes: PlottedOutcomes,
    cutting: Cutting,
    window: AxisWindow | None = None,
    cursor: float | None = None,
) -> Picture:
    """Draw one mark for each run, as far as cells allow; `window` and `cursor` are run numbers, from 1."""
    values = outcomes.values
    if not finite(values).size:
        return words(canvas, EMPTY if not values.size else f"None of {values.size} runs has a finite {outcomes.name}.")
    shown = window or AxisWindow(0.5, values.size + 0.5)
    numbers = np.arange(1, values.size + 1, dtype=np.float64)
    inside = (numbers >= shown.low) & (numbers <= shown.high)
    level = extent(values[inside]) or extent(values)
    assert level is not None  # some value is finite
    failed = values.size - finite(values).size
    title = f"{values.size} runs in order" + (f", {failed} without a finite {outcomes.name}" if failed else "")
    axes = PlotAxis(shown, "", "run"), PlotAxis(level, outcomes.unit, outcomes.name)
    legend = f"upwards: {outcome_axis(level, outcomes).name}  {class_marks(canvas.marks, cutting.cut)}"
    framed = frame(canvas, *axes, title, order_reading(outcomes, cursor), legend.rstrip())
    if framed is None:
        return Picture(canvas)
    cut_line(canvas, framed, cutting.cut)
    dots(canvas, framed, numbers[inside], values[inside], slow_of(values[inside], outcomes, cutting.cut))
    pointed(canvas, framed, cursor)
    return Picture(canvas, framed)


def order_reading(outcomes: PlottedOutcomes, cursor: float | None) -> str:
    """Read the run under the cursor."""
    if cursor is None:
        return "arrow keys read a run"
    place = min(max(round(cursor), 1), outcomes.values.size) - 1
    value = float(outcomes.values[place])
    shown = amount(value, outcomes.unit) if np.isfinite(value) else f"no finite {outcomes.name}"
    return f"run {place + 1}: {shown}"
