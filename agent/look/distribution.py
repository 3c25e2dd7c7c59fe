"""Distributions of outcomes: bars, a density, modes and quantiles; and two arms over each other."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ...tools.amount import amount
from ...tools.statistics.values import FloatArray, finite, sorted_quantile
from .canvas import LARGEST, AxisWindow, CellScale, Marks, TextCanvas, counts
from .plot import Clipped, Framed, Plot, PlotAxis, PlotLayout, clipped, outcome_axis
from .scenes import PlottedOutcomes, slow_of

EMPTY = "There is no run to show yet."
QUANTILES = (0.05, 0.5, 0.95)
QUANTILE = "q"
"""Mark of a quantile on the axis."""
SMOOTHED = 4.0
"""Bandwidths beyond which the kernel is nothing."""
HEADROOM = 1.08


class _Distribution(Plot):
    """Runs over their outcomes; far ones in a cell of their own."""

    @cached_property
    def _clipped(self) -> Clipped | None:
        return None if self.sentence else clipped(*self._arms)

    @property
    @abstractmethod
    def _arms(self) -> Sequence[FloatArray]:
        """Finite outcomes of each."""

    @property
    def _whole(self) -> Clipped:
        assert self._clipped is not None  # it has a span
        return self._clipped

    @property
    def span(self) -> AxisWindow | None:
        """All runs, far ones aside."""
        return self._clipped and self._clipped.window


@dataclass(frozen=True, eq=False)
class Histogram(_Distribution):
    """Runs of one arm, slow and fast ones."""

    outcomes: PlottedOutcomes
    cut: float | None = None
    modes: tuple[float, ...] = ()
    moved: bool = False
    """The cut is not as the record has it."""
    name: str = ""
    """Of the arm; empty: there is one."""

    @cached_property
    def _values(self) -> FloatArray:
        return finite(self.outcomes.values)

    @property
    def _arms(self) -> Sequence[FloatArray]:
        return (self._values,)

    @cached_property
    def _quantiles(self) -> list[float]:
        ascending = np.sort(self._values)
        return [float(sorted_quantile(ascending, share)) for share in QUANTILES]

    @property
    def sentence(self) -> str:
        """Say why there is no distribution; empty where there is one."""
        values, outcomes = self._values, self.outcomes
        if not outcomes.values.size:
            return EMPTY
        if not values.size:
            return f"None of {outcomes.values.size} runs has a finite {outcomes.name}: check that the program succeeds."
        if values.size == 1:
            return f"One run so far: {amount(float(values[0]), outcomes.unit)}. A distribution needs two."
        if values.min() == values.max():
            return f"All {values.size} runs gave {amount(float(values[0]), outcomes.unit)}: there is no spread to show."
        return ""

    def layout(self, x: CellScale, cursor: float | None, marks: Marks) -> PlotLayout:
        """Give the quantiles, and read the cut or what lies under the cursor."""
        unit = self.outcomes.unit
        tall = max(float(self._whole.counts(self._values, x).max()), 1.0) * HEADROOM
        told = [
            f"p{100 * share:g} {amount(value, unit)}" for share, value in zip(QUANTILES, self._quantiles, strict=True)
        ]
        return PlotLayout(
            outcome_axis(x.window, self.outcomes),
            PlotAxis(AxisWindow(0.0, tall)),
            f"{self.name}{': ' * bool(self.name)}{self._values.size} runs, {', '.join(told)}",
            self._reading(cursor, x.step),
            self._whole.legend(self._legend(marks), x, marks, unit),
        )

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Draw bars, density, quantiles, modes and cut."""
        self._bars(canvas, framed)
        curve = density(self._values, framed.x) / framed.y.window.high
        canvas.line(framed.left, framed.top, framed.bottom, curve, canvas.marks.curve, "curve")
        for mark, places in ((QUANTILE, self._quantiles), ("M", self.modes)):
            for value in places:
                if (column := framed.column(value)) >= 0:
                    canvas.put(framed.bottom + 1, column, mark, "curve")
        if self.cut is not None and (column := framed.column(self.cut)) >= 0:
            canvas.upright(column, framed.top, framed.bottom + 1, canvas.marks.cut, "cut")
        self._whole.mark(canvas, framed)

    def _bars(self, canvas: TextCanvas, framed: Framed) -> None:
        whole, slow = self._whole, slow_of(self._values, self.outcomes, self.cut)
        tall = framed.y.window.high
        every, those = whole.counts(self._values, framed.x), whole.counts(self._values[slow], framed.x)
        for column, (all_here, slow_here) in enumerate(zip(every.tolist(), those.tolist(), strict=True), framed.left):
            if slow_here < all_here:
                canvas.bar(column, framed.top, framed.bottom, all_here / tall, "fast")
            if slow_here:
                canvas.bar(column, framed.top, framed.bottom, slow_here / tall, "slow", canvas.marks.slow_bar)

    def _reading(self, cursor: float | None, step: float) -> str:
        values, outcomes, cut = self._values, self.outcomes, self.cut
        if cursor is not None:
            here = int((np.abs(values - cursor) <= step / 2).sum())
            below = float((values <= cursor).mean())
            return f"{amount(cursor, outcomes.unit)}: {here} runs here, {below:.1%} at or below"
        if cut is None:
            return "no cut yet"
        slow, how = int(slow_of(values, outcomes, cut).sum()), "moved cut" if self.moved else "cut"
        return f"{how} at {amount(cut, outcomes.unit)}: {slow} of {values.size} runs are slow"

    def _legend(self, marks: Marks) -> str:
        labelled = self.cut is not None
        bars = [f"{marks.bar} fast", f"{marks.slow_bar} slow"] if labelled else [f"{marks.bar} runs"]
        cut, modes = [f"{marks.cut} cut"] * labelled, ["M mode"] * bool(self.modes)
        return "  ".join([*bars, f"{marks.curve} density", *cut, *modes, f"{QUANTILE} p5 p50 p95"])


RULER_END = 1.25
"""Of the ruler, at least: a ratio of 1, no change, must be seen."""


class SpreadRatio(NamedTuple):
    """Of the spreads, mitigated over baseline, with the ends of its interval; None: not known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Overlay(_Distribution):
    """Both arms in shares of their runs, so that unequal ones compare, and what the comparison says of their spread."""

    baseline: PlottedOutcomes
    mitigated: PlottedOutcomes
    mitigation: str
    ratio: SpreadRatio = SpreadRatio()
    verdict: str = ""
    held_against: str = "baseline"
    """Name of the arm that `mitigated` is held against."""
    name: str = ""

    @cached_property
    def _arms(self) -> tuple[FloatArray, FloatArray]:
        return finite(self.baseline.values), finite(self.mitigated.values)

    @property
    def sentence(self) -> str:
        """Say which arm is awaited; empty where both are there."""
        there = all(arm.size for arm in self._arms)
        return "" if there else f"{self.mitigation} has no runs to hold against the baseline yet."

    def layout(self, x: CellScale, cursor: float | None, marks: Marks) -> PlotLayout:
        """Give the ratio of the spreads, and read the shares under the cursor."""
        tall = max(float(max(shares)) for shares in _shares(self, x)) * HEADROOM or 1.0
        arms = f"% of runs: {marks.faint_bar} {self.held_against}  {marks.curve} {self.mitigation}"
        entries = arms if self.ratio.value is None else f"{arms}  = interval of the ratio, 1 no change"
        return PlotLayout(
            outcome_axis(x.window, self.baseline),
            PlotAxis(AxisWindow(0.0, 100 * tall)),
            f"{self.mitigation}: {self._ratio()}{f', {self.verdict}' if self.verdict else ''}",
            self._reading(cursor, x.step),
            self._whole.legend(entries, x, marks, self.baseline.unit),
        )

    def mark(self, canvas: TextCanvas, framed: Framed) -> None:
        """Draw bars of one arm, the density of the other, and the ratio."""
        bars, curve = (100 * shares / framed.y.window.high for shares in _shares(self, framed.x))
        for column, share in enumerate(bars.tolist(), framed.left):
            canvas.bar(column, framed.top, framed.bottom, share, "baseline", canvas.marks.faint_bar)
        canvas.line(framed.left, framed.top, framed.bottom, curve, canvas.marks.curve, "mitigated")
        self._ruler(canvas, framed)
        self._whole.mark(canvas, framed)

    def _ratio(self) -> str:
        ratio, low, high = self.ratio
        if ratio is None:
            return "spread ratio undefined"
        if low is None or high is None:
            return f"spread ratio {ratio:.3g}, no interval"
        return f"spread ratio {ratio:.3g} [{low:.3g}, {high:.3g}]"

    def _reading(self, cursor: float | None, step: float) -> str:
        if cursor is None:
            return "arrow keys read values; up and down choose a comparison"
        here = [float((np.abs(arm - cursor) <= step / 2).mean()) for arm in self._arms]
        where = amount(cursor, self.baseline.unit)
        return f"{where}: {here[0]:.1%} of {self.held_against}, {here[1]:.1%} of {self.mitigation}"

    def _ruler(self, canvas: TextCanvas, framed: Framed) -> None:
        """Lay the interval on a line from 0 upwards, with a mark at 1: the whole interval left of it is less spread."""
        if (ratio := self.ratio.value) is None or framed.x.cells < 30:
            return
        low, high = (ratio if end is None else end for end in self.ratio[1:])
        ruler = CellScale(AxisWindow(0.0, max(RULER_END, 1.05 * max(ratio, high))), framed.x.cells // 3)
        left, first, last = framed.right + 1 - ruler.cells, ruler.place(low), ruler.place(high)
        for place in range(ruler.cells):
            inside = first <= place <= last
            mark = "=" if inside else canvas.marks.level
            canvas.put(framed.top, left + place, mark, "mitigated" if inside else "faint")
        canvas.put(framed.top, left + ruler.place(1.0), "1", "cut")
        canvas.put(framed.top, left + ruler.place(ratio), canvas.marks.curve, "mitigated")


@lru_cache(maxsize=1)
def _shares(shown: Overlay, x: CellScale) -> tuple[FloatArray, FloatArray]:
    """Shares of the runs in each cell: counted ones of the baseline, the density of the mitigated ones.

    The one that is drawn is remembered, since its layout and its marks are made of the same shares.
    """
    baseline, mitigated = shown._arms
    return shown._whole.counts(baseline, x) / baseline.size, density(mitigated, x) / mitigated.size


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
