"""The picture of a comparison: both distributions, and how far every quantile moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ...knowledge.errors import VgoError
from ...tools.claim_words import in_a_word
from ...tools.recorded_comparison.compare import ComparedValues, Contrasted
from ...tools.statistics.comparison.description import Description
from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas, standalone
from .figures import Floats, Outcomes, bin_edges, overflow, window
from .numbers import Scale

MOST_PICTURED = 12
ROW = 2.5
_Drawn = tuple[str, Floats, str, str]
"""Name of an arm, its values, colour and kind of line."""


def save(found: Contrasted, values: ComparedValues, path: Path) -> None:
    """Write the picture as one SVG file."""
    try:
        path.write_text(standalone(picture(found, values)), encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); choose another file for --picture.") from error


def picture(found: Contrasted, values: ComparedValues) -> str:
    """Draw a row for each arm, of the first twelve."""
    axis = Outcomes(found.metric, found.unit)
    shown = found.arms[:MOST_PICTURED]
    names = ", ".join(arm.name for arm in shown)
    height = ROW * len(shown)
    with canvas(
        "comparison", f"Distributions of {found.baseline} and {names}, and the shift of quantiles.", height
    ) as page:
        for place, arm in enumerate(shown):
            bottom = 1 - (place + 1) / len(shown)
            size = {"bottom": bottom + 0.2 / len(shown), "height": 0.62 / len(shown)}
            x = values.baseline[np.isfinite(values.baseline)]
            y = values.others[arm.name][np.isfinite(values.others[arm.name])]
            unit = axis.scale(x)
            arms = (found.baseline, x * unit.factor, BASELINE, "-"), (arm.name, y * unit.factor, MITIGATED, "--")
            _overlay(page.axes(0.07, 0.42, **size), arms, axis.label(unit.unit), unit.unit, in_a_word(arm.spread))
            _shift(page.axes(0.62, 0.36, **size), arm.described, unit, found.lower_is_better)
    return page.svg


def _overlay(axes: Axes, arms: Sequence[_Drawn], label: str, unit: str, title: str) -> None:
    """Share of the runs in each bin, so that arms of unequal length compare."""
    together = np.concatenate([values for _, values, _, _ in arms])
    view = window(together, unit)
    bins = bin_edges(together, view)
    ends = [view.low, view.high]
    for name, values, colour, dashes in arms:
        share = 100 * np.histogram(values, bins)[0] / values.size
        axes.stairs(share, bins, fill=True, color=colour, alpha=0.18)
        axes.stairs(share, bins, color=colour, linewidth=1.4, linestyle=dashes, label=_short(name))
        far = overflow(axes, values, bins, colour, 100 / values.size)
        ends = [min(ends[0], far.low), max(ends[1], far.high)]
    axes.set(xlim=ends, ylabel="% of the runs", title=title)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{label}   ({view.note})" if view.note else label)
    axes.legend(loc="upper right")


def _shift(axes: Axes, one: Description, unit: Scale, lower_is_better: bool) -> None:
    """Difference of each quantile with its 95 % band; the bad tail is named."""
    share = 100 * np.array([shift.share for shift in one.shifts])
    moved = unit.factor * np.array([shift.difference for shift in one.shifts])
    bounds = [(s.share, s.low, s.high) for s in one.shifts if s.low is not None and s.high is not None]
    axes.axhline(0, color=INK, linewidth=0.8, linestyle=":")
    if bounds:
        at, low, high = np.array(bounds).T
        axes.fill_between(100 * at, unit.factor * low, unit.factor * high, color=MITIGATED, alpha=0.2, linewidth=0)
    axes.plot(share, moved, color=MITIGATED, linewidth=1.4, marker="o", markersize=3)
    axes.set(xlim=(0, 100), title="shift of each quantile, 95 % band")
    axes.set_xlabel(f"percentile of the runs ({'right' if lower_is_better else 'left'}: the worst)")
    axes.set_ylabel(f"other - baseline [{unit.unit}]" if unit.unit else "other - baseline")
    axes.axvspan(*((90, 100) if lower_is_better else (0, 10)), color=FAINT, alpha=0.15, linewidth=0)


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
