"""Distributions of outcomes: bars, a density, modes and quantiles; and two arms over each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.values import FloatArray, finite, sorted_quantile
from .canvas import Marks, TextCanvas
from .clipped import Clipped, clipped
from .frame import APART, Framed, Picture, PlotAxis, frame, outcome_axis, words
from .scale import LARGEST, AxisWindow, CellScale, counts
from .scatter import pointed, slow_of
from .scenes import Overlay, PlottedOutcomes

EMPTY = "There is no run to show yet."
QUANTILES = (0.05, 0.5, 0.95)
QUANTILE = "q"
"""Mark of a quantile on the axis."""
SMOOTHED = 4.0
"""Bandwidths beyond which the kernel is nothing."""
HEADROOM = 1.08


@dataclass(frozen=True)
class Cutting:
    """Where the outcome is cut; `moved`: not as the record has it."""

    cut: float | None = None
    moved: bool = False


def distribution(
    canvas: TextCanvas,
    outcomes: PlottedOutcomes,
    cutting: Cutting,
    window: AxisWindow | None = None,
    cursor: float | None = None,
    modes: tuple[float, ...] = (),
) -> Picture:
    """Draw one arm; `window` None shows all runs, far ones in a cell of their own."""
    values = finite(outcomes.values)
    sentence = unshowable(values, outcomes)
    whole = clipped(values)
    if sentence or whole is None:
        return words(canvas, sentence or EMPTY)
    shown = window or whole.window
    cells = CellScale(shown, max(canvas.width - 11, 1))
    tall = max(float(whole.counts(values, cells).max()), 1.0) * HEADROOM
    axes = outcome_axis(shown, outcomes), PlotAxis(AxisWindow(0.0, tall))
    quantiles = [float(sorted_quantile(np.sort(values), share)) for share in QUANTILES]
    title = _title(values.size, quantiles, outcomes)
    told = reading(values, outcomes, cutting, cursor, cells.step)
    legend = APART.join([_legend(canvas.marks, cutting, modes), *whole.legend(canvas, shown, outcomes.unit)])
    framed = frame(canvas, *axes, title, told, legend)
    if framed is None:
        return Picture(canvas)
    _bars(canvas, framed, whole, outcomes, cutting)
    curve = density(values, framed.x) / tall
    canvas.line(framed.left, framed.top, framed.bottom, curve, canvas.marks.curve, "curve")
    _marked(canvas, framed, quantiles, modes, cutting)
    whole.marks(canvas, framed)
    pointed(canvas, framed, cursor)
    return Picture(canvas, framed)


def unshowable(values: FloatArray, outcomes: PlottedOutcomes) -> str:
    """Say why there is no distribution; empty where there is one."""
    if not outcomes.values.size:
        return EMPTY
    if not values.size:
        return f"None of {outcomes.values.size} runs has a finite {outcomes.name}: check that the program succeeds."
    if values.size == 1:
        return f"One run so far: {amount(float(values[0]), outcomes.unit)}. A distribution needs two."
    if values.min() == values.max():
        return f"All {values.size} runs gave {amount(float(values[0]), outcomes.unit)}: there is no spread to show."
    return ""


def density(values: FloatArray, scale: CellScale) -> FloatArray:
    """Smooth the counts of the cells with a normal kernel, shape (cells,), in runs a cell.

    Bandwidth by Silverman 1986, 0.9 s n^(-1/5), at least half a cell, where s is the lesser of the SD and of the
    shortest interval with half of the runs over 1.349 (its length for a normal law with SD 1): of several modes the
    sharpest decides, which the interquartile range would smooth away. Cells beside the window count too, so that
    zooming in leaves the curve as it is.
    """
    x = np.clip(np.sort(finite(values)), -LARGEST, LARGEST)
    width = max(0.9 * _sharpest(x) * x.size**-0.2 / scale.step, 0.5)
    reach = int(min(np.ceil(SMOOTHED * width), 8 * scale.cells))
    beside = CellScale(
        AxisWindow(scale.window.low - reach * scale.step, scale.window.high + reach * scale.step),
        scale.cells + 2 * reach,
    )
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    smooth: FloatArray = np.convolve(counts(x, beside), kernel / kernel.sum(), mode="valid")
    return smooth


def _sharpest(ascending: FloatArray) -> float:
    """SD, or that of a normal law whose middle half is as narrow as the narrowest half of the runs."""
    half = max(ascending.size // 2, 1)
    shortest = float((ascending[half:] - ascending[: ascending.size - half]).min(initial=np.inf)) / 1.349
    size = float(ascending[-1] - ascending[0])
    sd = size * float(((ascending - ascending[0]) / size).std()) if size else 0.0
    return min(sd, shortest) if shortest > 0 else sd


def reading(values: FloatArray, outcomes: PlottedOutcomes, cutting: Cutting, cursor: float | None, step: float) -> str:
    """Read the cut, or what lies under the cursor."""
    if cursor is not None:
        here = int((np.abs(values - cursor) <= step / 2).sum())
        below = float((values <= cursor).mean())
        return f"{amount(cursor, outcomes.unit)}: {here} runs here, {below:.1%} at or below"
    if cutting.cut is None:
        return "no cut yet"
    slow, how = int(slow_of(values, outcomes, cutting.cut).sum()), "moved cut" if cutting.moved else "cut"
    return f"{how} at {amount(cutting.cut, outcomes.unit)}: {slow} of {values.size} runs are slow"


def _title(runs: int, quantiles: Sequence[float], outcomes: PlottedOutcomes) -> str:
    named = zip(QUANTILES, quantiles, strict=True)
    words = ", ".join(f"p{100 * share:g} {amount(value, outcomes.unit)}" for share, value in named)
    return f"{runs} runs, {words}"


def _legend(marks: Marks, cutting: Cutting, modes: tuple[float, ...]) -> str:
    bars = [f"{marks.bar} fast", f"{marks.slow_bar} slow"] if cutting.cut is not None else [f"{marks.bar} runs"]
    cut = [f"{marks.cut} cut"] if cutting.cut is not None else []
    return "  ".join([*bars, f"{marks.curve} density", *cut, *(["M mode"] if modes else []), f"{QUANTILE} p5 p50 p95"])


def _bars(canvas: TextCanvas, framed: Framed, whole: Clipped, outcomes: PlottedOutcomes, cutting: Cutting) -> None:
    values = finite(outcomes.values)
    slow = slow_of(values, outcomes, cutting.cut)
    tall = framed.y.window.high
    every, those = whole.counts(values, framed.x), whole.counts(values[slow], framed.x)
    for place, (all_here, slow_here) in enumerate(zip(every.tolist(), those.tolist(), strict=True)):
        column = framed.left + place
        if slow_here < all_here:
            canvas.bar(column, framed.top, framed.bottom, all_here / tall, "fast")
        if slow_here:
            canvas.bar(column, framed.top, framed.bottom, slow_here / tall, "slow", canvas.marks.slow_bar)


def _marked(
    canvas: TextCanvas, framed: Framed, quantiles: Sequence[float], modes: tuple[float, ...], cutting: Cutting
) -> None:
    for mark, places in ((QUANTILE, quantiles), ("M", modes)):
        for value in places:
            if (column := framed.column(value)) >= 0:
                canvas.put(framed.bottom + 1, column, mark, "curve")
    if cutting.cut is not None and (column := framed.column(cutting.cut)) >= 0:
        canvas.upright(column, framed.top, framed.bottom + 1, canvas.marks.cut, "cut")


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
    legend = APART.join([_overlay_legend(canvas, shown), *whole.legend(canvas, across, shown.baseline.unit)])
    framed = frame(canvas, *axes, _overlay_title(shown), _reading(shown, arms, cursor, cells.step), legend)
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


def _overlay_title(shown: Overlay) -> str:
    verdict = f", {shown.verdict}" if shown.verdict else ""
    return f"{shown.mitigation}: {ratio_words(shown)}{verdict}"


def _overlay_legend(canvas: TextCanvas, shown: Overlay) -> str:
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
