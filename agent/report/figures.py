"""The pictures of a report, each a function of arrays; every one holds for 2 runs, equal runs and wild outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ..shown_range import shown_range
from .numbers import Scale, number, scale
from .svg import BASELINE, FAINT, INK, MITIGATED, canvas

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
MOST_MARKERS = 2000
"""Above it markers become a bitmap: as vectors they would make the page heavy."""
WRITTEN = FuncFormatter(lambda value, _: number(value, 3))
"""Ticks as numbers are written elsewhere."""
MOST_STEPS = 400
"""Points of a drawn cumulative curve."""


@dataclass(frozen=True)
class Window:
    """The part of a range that is drawn, a little widened."""

    low: float
    high: float
    beyond: int = 0
    """Values left outside."""
    note: str = ""
    """Says what is not seen."""


@dataclass(frozen=True)
class Outcomes:
    """What the axis of the outcome is called, and its unit."""

    name: str
    unit: str

    def scale(self, values: Floats) -> Scale:
        """Choose the unit to draw in."""
        return scale(self.unit, float(np.median(values)) if values.size else 0.0)

    def label(self, unit: str, view: Window | None = None) -> str:
        """Name the axis, with what is not seen on it."""
        name = in_unit(short(self.name, 40), unit)
        return f"{name}   ({view.note})" if view and view.note else name


class DrawnArm(NamedTuple):
    """One of the arms that are drawn over each other."""

    name: str
    values: Floats
    colour: str
    dashes: str


def window(values: Floats, unit: str = "") -> Window:
    """Leave rare values outside that would press all others into a line."""
    shown = shown_range(values)
    pad = 0.03 * (shown.high - shown.low) or abs(shown.low) * 0.01 or 1.0
    return Window(shown.low - pad, shown.high + pad, shown.below + shown.above, shown.note(unit))


def distribution(outcome: Floats, slow: Flags | None, cut: float | None, modes: Sequence[float], axis: Outcomes) -> str:
    """Histogram of the baseline: slow and fast, the cut between them, the modes."""
    unit = axis.scale(outcome)
    values = outcome * unit.factor
    view = window(values, unit.unit)
    edges = bin_edges(values, view)
    with canvas("distribution", f"Histogram of {values.size} baseline runs.", 2.1) as page:
        axes = page.axes(0.08, 0.9, 0.22, 0.64)
        flags = np.zeros(values.size, dtype=bool) if slow is None else slow
        fast, both = np.histogram(values[~flags], edges)[0], np.histogram(values, edges)[0]
        fill = MITIGATED if slow is not None else FAINT
        axes.stairs(fast, edges, fill=True, color=fill, alpha=0.55, label="fast" if slow is not None else None)
        if slow is not None:
            axes.stairs(both, edges, baseline=fast, fill=True, color=BASELINE, alpha=0.8, label="slow")
        if slow is not None and cut is not None:
            axes.axvline(cut * unit.factor, color=INK, linewidth=1, linestyle="--", label="cut")
        if len(modes) > 1:
            places = [mode * unit.factor for mode in modes]
            axes.plot(places, [1.03 * both.max()] * len(places), "v", color=INK, markersize=4, label="modes")
        far = overflow(axes, values, edges, BASELINE if slow is not None else FAINT)
        axes.set(xlim=(far.low, far.high), ylim=(0, 1.12 * max(both.max(), far.tall)), ylabel="runs")
        axes.set_xlabel(axis.label(unit.unit, view))
        if slow is not None or len(modes) > 1:
            _legend(axes, 4)
    return page.svg


def overlay(baseline: Floats, mitigated: Floats, axis: Outcomes, title: str) -> str:
    """Baseline and mitigated over each other: histogram, and share of runs up to each outcome."""
    everything = np.concatenate((baseline, mitigated))
    unit = axis.scale(everything)
    view = window(everything * unit.factor, unit.unit)
    arms = (
        DrawnArm("baseline", baseline * unit.factor, BASELINE, "-"),
        DrawnArm("mitigated", mitigated * unit.factor, MITIGATED, "--"),
    )
    edges = bin_edges(everything * unit.factor, view)
    words = f"Distributions of {baseline.size} baseline and {mitigated.size} mitigated runs. {title}"
    with canvas("overlay", words, 2.7) as page:
        left, right = page.axes(0.07, 0.42), page.axes(0.56, 0.42)
        histograms(left, arms, edges)
        for name, values, colour, dashes in arms:
            x, share = _cumulative(values)
            right.plot(x, share, color=colour, linewidth=1.4, linestyle=dashes, drawstyle="steps-post", label=name)
        left.set(ylabel="runs", title=title)
        right.set(xlim=(view.low, view.high), ylim=(0, 1.02), title="share of runs up to")
        for axes in (left, right):
            axes.set_xlabel(axis.label(unit.unit, view))
        right.legend(loc="lower right")
    return page.svg


def histograms(axes: Axes, arms: Sequence[DrawnArm], edges: Floats, shares: bool = False) -> None:
    """Draw arms over each other: runs in each bin, or percent of the runs, so that arms of unequal length compare."""
    each = [100 / values.size if shares else 1.0 for _, values, _, _ in arms]
    for (name, values, colour, dashes), one in zip(arms, each, strict=True):
        counts = one * np.histogram(values, edges)[0]
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.18)
        axes.stairs(counts, edges, color=colour, linewidth=1.4, linestyle=dashes, label=name)
    far = [overflow(axes, arm.values, edges, arm.colour, one) for arm, one in zip(arms, each, strict=True)]
    axes.set(xlim=(min(one.low for one in far), max(one.high for one in far)))
    axes.set_ylim(bottom=0)


def run_order(outcome: Floats, warm_up: int, pairs: tuple[Floats, Floats] | None, axis: Outcomes) -> str:
    """Outcome by order: the baseline with its warm-up, and the pairs of a batch, each pair joined."""
    unit = axis.scale(outcome)
    values = outcome * unit.factor
    with canvas("run-order", f"Outcome of {values.size} baseline runs in the order they were made.", 2.5) as page:
        left = page.axes(0.08, 0.41 if pairs else 0.9)
        view = window(values, unit.unit)
        _points(
            left, np.arange(values.size, dtype=np.float64), values, view, MITIGATED if pairs is None else BASELINE, "o"
        )
        if warm_up:
            left.axvspan(-0.5, warm_up - 0.5, color=FAINT, alpha=0.3, linewidth=0)
            left.text(warm_up, view.high, "warm-up", va="top", fontsize=7)
        left.set(ylim=(view.low, view.high), xlabel="run", title=view.note)
        left.set_ylabel(axis.label(unit.unit))
        if pairs:
            _pairs(page.axes(0.57, 0.41), pairs[0] * unit.factor, pairs[1] * unit.factor, unit.unit)
    return page.svg


def scatter(x: Floats, outcome: Floats, slow: Flags, column: Outcomes, axis: Outcomes, title: str) -> str:
    """Outcome against the column of the factor, with a straight line through it."""
    across, up = scale(column.unit, float(np.quantile(np.abs(x), 0.9))), axis.scale(outcome)
    u, v = x * across.factor, outcome * up.factor
    wide, high = window(u, across.unit), window(v, up.unit)
    with canvas("scatter", f"Outcome against {column.name} over {u.size} runs. {title}", 2.7) as page:
        axes = page.axes(0.08, 0.9)
        seen = np.clip(u, wide.low, wide.high)
        _points(axes, seen[~slow], v[~slow], high, MITIGATED, "o", "fast")
        _points(axes, seen[slow], v[slow], high, BASELINE, "^", "slow")
        if np.ptp(u) > 0 and np.ptp(v) > 0:
            slope, start = np.polyfit(u, v, 1)
            ends = np.array([max(u.min(), wide.low), min(u.max(), wide.high)])
            axes.plot(ends, start + slope * ends, color=INK, linewidth=0.9, linestyle=":")
        axes.set(
            xlim=(wide.low, wide.high), ylim=(high.low, high.high), title="; ".join(filter(None, (title, high.note)))
        )
        axes.set_ylabel(axis.label(up.unit))
        axes.set_xlabel(column.label(across.unit, wide))
        _legend(axes, 2)
    return page.svg


def _pairs(axes: Axes, baseline: Floats, mitigated: Floats, unit: str) -> None:
    view = window(np.concatenate((baseline, mitigated)), unit)
    place = np.arange(baseline.size, dtype=np.float64)
    # One line with gaps instead of one line a pair: a tenth of the size.
    joined = np.column_stack((baseline, mitigated, np.full(baseline.size, np.nan))).ravel()
    axes.plot(np.repeat(place, 3), joined, color=FAINT, linewidth=0.5, alpha=0.6, rasterized=place.size > MOST_MARKERS)
    _points(axes, place, baseline, view, BASELINE, "o", "baseline")
    _points(axes, place, mitigated, view, MITIGATED, "x", "mitigated")
    axes.set(ylim=(view.low, view.high), xlabel="pair", title=view.note)
    _legend(axes, 2)


def _points(axes: Axes, x: Floats, y: Floats, view: Window, colour: str, marker: str, label: str | None = None) -> None:
    """Draw markers; what lies beyond the window sits on its edge."""
    axes.plot(
        x,
        np.clip(y, view.low, view.high),
        linestyle="none",
        marker=marker,
        markersize=3,
        markeredgewidth=0.8,
        markeredgecolor=colour,
        markerfacecolor="none" if marker == "o" else colour,
        label=label,
        clip_on=False,
        rasterized=x.size > MOST_MARKERS,
    )


def bin_edges(values: Floats, view: Window) -> Floats:
    """Bins by Freedman and Diaconis, at least 8 and at most 48 of them."""
    spread = float(np.subtract(*np.quantile(values, (0.75, 0.25))))
    width = 2 * spread / values.size ** (1 / 3)
    # Two humps far apart make the rule's bins too wide, so there is a floor that grows with the runs.
    least = int(np.clip(2 * np.sqrt(values.size), 8, 28))
    count = int(np.clip((view.high - view.low) / width, least, 48)) if width > 0 else 28
    return np.linspace(view.low, view.high, count + 1)


class Overflow(NamedTuple):
    """The bins for what lies beyond the edges: the axis with them, and the taller one."""

    low: float
    high: float
    tall: float


def overflow(axes: Axes, values: Floats, edges: Floats, colour: str, each: float = 1.0) -> Overflow:
    """Draw a hatched bin beside the others for the values below the first edge, and one for those above the last.

    `each` is how tall one run is.
    """
    low, high, width = float(edges[0]), float(edges[-1]), float(edges[1] - edges[0])
    below, above = int((values < low).sum()), int((values > high).sum())
    for start, runs in ((low - width, below), (high, above)):
        if runs:
            ends = np.array([start, start + width])
            axes.stairs([runs * each], ends, fill=False, hatch="////", color=colour, linewidth=0.8)
    return Overflow(low - width * (below > 0), high + width * (above > 0), max(below, above) * each)


def _cumulative(values: Floats) -> tuple[Floats, Floats]:
    """Share of runs up to each value, thinned where there are very many."""
    ascending = np.sort(values)
    place = np.unique(np.linspace(0, ascending.size - 1, min(ascending.size, MOST_STEPS)).astype(int))
    return np.r_[ascending[0], ascending[place]], np.r_[0.0, (place + 1) / ascending.size]


def plain(axis: Axis) -> None:
    """Write numbers at 1, 2 and 5 of each decade, as few as fit, and no powers of ten: text is not typeset here."""
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low) if low > 0 else 1.0
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    axis.set_major_formatter(WRITTEN)
    axis.set_minor_formatter(NullFormatter())


def in_unit(name: str, unit: str) -> str:
    """Name what an axis shows with its unit, if it has one."""
    return f"{name} [{unit}]" if unit else name


def short(name: str, most: int) -> str:
    """Cut a name that would not fit."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _legend(axes: Axes, entries: int) -> None:
    """Put it above the picture, where no data can lie under it."""
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.02, 0.99), ncols=entries, handletextpad=0.3, columnspacing=1, borderpad=0.2
    )
