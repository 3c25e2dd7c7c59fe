"""Baseline and mitigated runs over each other, with the ratio of their spreads and its interval on a ruler."""

from __future__ import annotations

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.values import FloatArray, finite
from .canvas import TextCanvas
from .clipped import clipped
from .distribution import HEADROOM, density
from .dots import pointed
from .frame import APART, Framed, Picture, PlotAxis, frame, outcome_axis, words
from .scale import AxisWindow, CellScale
from .scenes import Overlay

RULER_END = 1.25
"""Of the ruler, at least: a ratio of 1, no change, must be seen."""


def overlay(
    canvas: TextCanvas, shown: Overlay, window: AxisWindow | None = None, cursor: float | None = None
) -> Picture:
    """Draw both arms in shares of their runs, so that arms of unequal size can be held against each other."""
    arms = finite(shown.baseline.values), finite(shown.mitigated.values)
    whole = clipped(*arms)
    if whole is None or not all(arm.size for arm in arms):
        return words(canvas, f"{shown.mitigation} has no runs to hold against the baseline yet.")
    across = window or whole.window
    cells = CellScale(across, max(canvas.width - 11, 1))
    curve = density(arms[1], cells) / arms[1].size
    bars = whole.counts(arms[0], cells) / arms[0].size
    tall = max(float(curve.max()), float(bars.max())) * HEADROOM or 1.0
    axes = outcome_axis(across, shown.baseline), PlotAxis(AxisWindow(0.0, 100 * tall))
    legend = APART.join([_legend(canvas, shown), *whole.legend(canvas, across, shown.baseline.unit)])
    framed = frame(canvas, *axes, _title(shown), _reading(shown, arms, cursor, cells.step), legend)
    if framed is None:
        return Picture(canvas)
    for place, share in enumerate((bars / tall).tolist()):
        column = framed.left + place
        canvas.bar(column, framed.top, framed.bottom, share, "baseline", canvas.marks.faint_bar)
    canvas.line(framed.left, framed.top, framed.bottom, curve / tall, canvas.marks.curve, "mitigated")
    _ruler(canvas, framed, shown)
    whole.marks(canvas, framed)
    pointed(canvas, framed, cursor)
    return Picture(canvas, framed)


def ratio_words(shown: Overlay) -> str:
    """Give the ratio with its interval."""
    if shown.ratio is None:
        return "spread ratio undefined"
    if shown.low is None or shown.high is None:
        return f"spread ratio {shown.ratio:.3g}, no interval"
    return f"spread ratio {shown.ratio:.3g} [{shown.low:.3g}, {shown.high:.3g}]"


def _title(shown: Overlay) -> str:
    verdict = f", {shown.verdict}" if shown.verdict else ""
    return f"{shown.mitigation}: {ratio_words(shown)}{verdict}"


def _legend(canvas: TextCanvas, shown: Overlay) -> str:
    marks = canvas.marks
    arms = f"% of runs: {marks.faint_bar} {shown.held_against}  {marks.curve} {shown.mitigation}"
    return arms if shown.ratio is None else f"{arms}  = interval of the ratio, 1 no change"


def _reading(shown: Overlay, arms: tuple[FloatArray, ...], cursor: float | None, step: float) -> str:
    if cursor is None:
        return "arrow keys read values; up and down choose a comparison"
    here = [float((np.abs(arm - cursor) <= step / 2).mean()) for arm in arms]
    where = amount(cursor, shown.baseline.unit)
    return f"{where}: {here[0]:.1%} of {shown.held_against}, {here[1]:.1%} of {shown.mitigation}"


def _ruler(canvas: TextCanvas, framed: Framed, shown: Overlay) -> None:
    """Lay the interval on a line from 0 upwards, with a mark at 1: the whole interval left of it is less spread."""
    if shown.ratio is None or framed.x.cells < 30:
        return
    ends = (shown.ratio if shown.low is None else shown.low, shown.ratio if shown.high is None else shown.high)
    ruler = CellScale(AxisWindow(0.0, max(RULER_END, 1.05 * max(shown.ratio, ends[1]))), framed.x.cells // 3)
    left, first, last = framed.right + 1 - ruler.cells, ruler.place(ends[0]), ruler.place(ends[1])
    for place in range(ruler.cells):
        inside = first <= place <= last
        mark = "=" if inside else canvas.marks.level
        canvas.put(framed.top, left + place, mark, "mitigated" if inside else "faint")
    canvas.put(framed.top, left + ruler.place(1.0), "1", "cut")
    canvas.put(framed.top, left + ruler.place(shown.ratio), canvas.marks.curve, "mitigated")
