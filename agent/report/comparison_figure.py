"""The picture of a comparison: both distributions, and how far every quantile moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ...tools.claim import in_a_word
from ...tools.recorded_comparison.compare import ComparedValues, Contrasted
from ...tools.statistics.comparison.description import Description
from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas
from .figures import DrawnArm, Outcomes, bin_edges, histograms, in_unit, short, window
from .numbers import Scale

MOST_PICTURED = 12
ROW = 2.5


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
            arms = (
                DrawnArm(short(found.baseline, 24), x * unit.factor, BASELINE, "-"),
                DrawnArm(short(arm.name, 24), y * unit.factor, MITIGATED, "--"),
            )
            _overlay(page.axes(0.07, 0.42, **size), arms, axis, unit.unit, in_a_word(arm.spread))
            _shift(page.axes(0.62, 0.36, **size), arm.described, unit, found.lower_is_better)
    return page.svg


def _overlay(axes: Axes, arms: Sequence[DrawnArm], axis: Outcomes, unit: str, title: str) -> None:
    together = np.concatenate([arm.values for arm in arms])
    view = window(together, unit)
    histograms(axes, arms, bin_edges(together, view), shares=True)
    axes.set(ylabel="% of the runs", title=title)
    axes.set_xlabel(axis.label(unit, view))
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
    axes.set_ylabel(in_unit("other - baseline", unit.unit))
    axes.axvspan(*((90, 100) if lower_is_better else (0, 10)), color=FAINT, alpha=0.15, linewidth=0)
