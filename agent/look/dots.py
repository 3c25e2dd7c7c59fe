"""Points of two classes: as many as there are cells, whatever the number of runs; slow ones lie on top."""

from __future__ import annotations

import numpy as np

from ...tools.statistics.values import BoolArray, FloatArray, IntArray
from .canvas import Marks, TextCanvas
from .frame import Framed
from .scenes import PlottedOutcomes


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
