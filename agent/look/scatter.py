"""One factor against the outcome, with the line that its R2 is of."""

from __future__ import annotations

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.ranks import r_squared
from ...tools.statistics.values import BoolArray, FloatArray, IntArray
from .canvas import Marks, TextCanvas
from .frame import Framed, Picture, PlotAxis, frame, outcome_axis, words
from .scale import LARGEST, AxisWindow, extent
from .scenes import PlottedOutcomes, Scatter


def slow_of(values: FloatArray, outcomes: PlottedOutcomes, cut: float | None) -> BoolArray:
    """Which runs are on the worse side of the cut, shape (runs,); none without a cut."""
    if cut is None:
        return np.zeros(values.size, dtype=np.bool_)
    slow: BoolArray = values > cut if outcomes.lower_is_better else values < cut
    return slow


def class_marks(marks: Marks, cut: float | None) -> str:
    """Name the marks of the classes and of the cut; empty where there is none."""
    if cut is None:
        return ""
    return f"{marks.fast_dot} fast  {marks.slow_dot} slow  {marks.cut_row} cut  "


def dots(canvas: TextCanvas, framed: Framed, x: FloatArray, y: FloatArray, slow: BoolArray) -> None:
    """Mark the cell of each point; points that are not finite have none."""
    columns, rows = framed.x.places(x), framed.y.places(y)
    seen = (columns >= 0) & (rows >= 0)
    cells = rows * framed.x.cells + columns
    for those, mark, fast in ((seen & ~slow, canvas.marks.fast_dot, True), (seen & slow, canvas.marks.slow_dot, False)):
        _mark(canvas, framed, cells[those], mark, fast)


def _mark(canvas: TextCanvas, framed: Framed, cells: IntArray, mark: str, fast: bool) -> None:
    for cell in np.unique(cells).tolist():
        row, column = divmod(cell, framed.x.cells)
        canvas.put(framed.bottom - row, framed.left + column, mark, "fast" if fast else "slow")


def cut_line(canvas: TextCanvas, framed: Framed, cut: float | None) -> None:
    """Draw the cut where outcomes go upwards."""
    row = -1 if cut is None else framed.row(cut)
    for column in range(framed.left, framed.right + 1) if row >= 0 else ():
        canvas.put(row, column, canvas.marks.cut_row, "cut")


def pointed(canvas: TextCanvas, framed: Framed, cursor: float | None) -> None:
    """Draw the cursor, if there is one and it is shown."""
    column = -1 if cursor is None else framed.column(cursor)
    if column >= 0:
        canvas.upright(column, framed.top, framed.bottom, canvas.marks.cursor, "cursor")


def factor_scatter(
    canvas: TextCanvas,
    scatter: Scatter,
    cut: float | None,
    window: AxisWindow | None = None,
    cursor: float | None = None,
) -> Picture:
    """Draw the runs; `window` and `cursor` are values of the column."""
    x, y = scatter.values, scatter.outcomes.values
    both = np.isfinite(x) & np.isfinite(y)
    if not both.any():
        return words(canvas, f"No run has a finite {scatter.column} and outcome to show.")
    if x[both].min() == x[both].max():
        return words(canvas, f"{scatter.column} was {amount(float(x[both][0]), scatter.unit)} in every run.")
    x, y = (np.clip(values[both], -LARGEST, LARGEST) for values in (x, y))
    across, up = window or extent(x), extent(y)
    assert across is not None and up is not None  # both hold a finite value
    axes = PlotAxis(across, scatter.unit, scatter.column[:24]), PlotAxis(up, scatter.outcomes.unit)
    told = _reading(scatter, cursor, across, canvas)
    framed = frame(canvas, *axes, _title(scatter, x, y), told, _legend(canvas, scatter, cut))
    if framed is None:
        return Picture(canvas)
    cut_line(canvas, framed, cut)
    dots(canvas, framed, x, y, slow_of(y, scatter.outcomes, cut))
    _fitted(canvas, framed, x, y)
    pointed(canvas, framed, cursor)
    return Picture(canvas, framed)


def _title(scatter: Scatter, x: FloatArray, y: FloatArray) -> str:
    r2 = scatter.r2 if scatter.r2 is not None else r_squared(x, y)
    said = "R2 undefined" if r2 is None else f"R2 {r2:.2f}"
    return f"{scatter.column}: {said}, {x.size} runs"


def _legend(canvas: TextCanvas, scatter: Scatter, cut: float | None) -> str:
    up, marks = outcome_axis(AxisWindow(0.0, 1.0), scatter.outcomes).name, canvas.marks
    return f"upwards: {up}  {class_marks(marks, cut)}{marks.level} fit"


def _reading(scatter: Scatter, cursor: float | None, across: AxisWindow, canvas: TextCanvas) -> str:
    if cursor is None:
        return "arrow keys read values; up and down choose a factor"
    step = across.width / max(canvas.width - 11, 1)
    near = scatter.outcomes.values[np.abs(scatter.values - cursor) <= step / 2]
    near = near[np.isfinite(near)]
    middle = f", median {amount(float(np.median(near)), scatter.outcomes.unit)}" if near.size else ""
    return f"{scatter.column} {amount(cursor, scatter.unit)}: {near.size} runs{middle}"


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
