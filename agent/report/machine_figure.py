"""The picture of a variability profile: a histogram of the CPU stressors, below it every other group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ...tools.machine_profile.compare import MachineComparison
from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas

BINS = 30


def picture(found: MachineComparison) -> str:
    """Draw the B/A profile as inline SVG."""
    names = f"{found.b.name} over {found.a.name}"
    with canvas("machine", f"Speed-ups of the stressors, {names}: a histogram of the CPU group.", 3.6) as page:
        above = page.axes(0.12, 0.86, bottom=0.42, height=0.5)
        below = page.axes(0.12, 0.86, bottom=0.12, height=0.22)
        _histogram(above, found)
        _others(below, found)
        low, high = above.get_xlim()
        every = [one.speed_up.value for one in found.ratios] + [one.speed_up for one in found.applications]
        low, high = min(low, *every), max(high, *every)
        edge = 0.03 * (high - low)
        for axes in (above, below):
            axes.set_xlim(low - edge, high + edge)
            axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    return page.svg


def _histogram(axes: Axes, found: MachineComparison) -> None:
    values = [one.speed_up.value for one in found.ratios if one.group == "cpu"]
    axes.set(title=f"{found.b.name} / {found.a.name}", ylabel="CPU stressors")
    if not values:
        return
    counts, edges = np.histogram(values, bins=BINS)
    axes.stairs(counts, edges, fill=True, color=MITIGATED, alpha=0.5)
    for value, dashes in ((min(values), "--"), (float(np.median(values)), "-"), (max(values), "--")):
        axes.axvline(value, color=MITIGATED, linewidth=1.2, linestyle=dashes)


def _others(axes: Axes, found: MachineComparison) -> None:
    """Put a mark for each stressor of the other groups, and for each application: dark where the bound holds."""
    rows: list[str] = [one.group for one in found.groups if one.group != "cpu"]
    for place, group in enumerate(rows):
        _marks(axes, [one.speed_up.value for one in found.ratios if one.group == group], place, BASELINE)
    if found.applications:
        rows = [*rows, "applications"]
        for inside, colour in ((True, MITIGATED), (False, INK)):
            values = [one.speed_up for one in found.applications if one.inside == inside]
            _marks(axes, values, len(rows) - 1, colour)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(-0.7, max(0, len(rows) - 1) + 0.7)
    axes.set_xlabel("speed-up of B over A (dashed: range of the CPU stressors; line: their median; dotted: 1)")
    axes.grid(axis="y", color=FAINT, linewidth=0.3)


def _marks(axes: Axes, values: Sequence[float], row: int, colour: str) -> None:
    axes.plot(values, [row] * len(values), linestyle="", marker="|", markersize=9, color=colour)
