"""Pictures of machines: how each node stands to the others, and the profile of one machine over another."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ...tools.machine_profile.compare import MachineComparison
from ...tools.nodes.analyse import NodeComparison
from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas
from .strips import FEW, MOST_DRAWN, Strip, strips

BINS = 30
"""Of the histogram of the CPU stressors."""


def standings(found: NodeComparison) -> str:
    """Draw the ratio of each node to the median node with its simultaneous interval, all nodes in order."""
    ratios = np.array([node.level.ratio for node in found.nodes])
    low = np.array([node.level.interval.low for node in found.nodes])
    high = np.array([node.level.interval.high for node in found.nodes])
    odd = np.array([node.level.odd for node in found.nodes])
    place = np.arange(ratios.size)
    with canvas("standings", f"Ratio of {ratios.size} nodes to the median node, with intervals.", 2.4) as page:
        axes = page.axes(0.08, 0.9)
        axes.axhline(1.0, color=FAINT, linewidth=0.8)
        for flag, colour, marker, label in ((~odd, MITIGATED, "o", "node"), (odd, BASELINE, "^", "odd in speed")):
            axes.vlines(place[flag], low[flag], high[flag], color=colour, linewidth=0.9, alpha=0.6)
            axes.plot(
                place[flag], ratios[flag], linestyle="none", marker=marker, markersize=3, color=colour, label=label
            )
        axes.set(xlabel="nodes in order", ylabel="ratio to the median node")
        if ratios.size <= MOST_DRAWN:
            axes.set_xticks(place, [node.name[:12] for node in found.nodes], rotation=0 if ratios.size <= FEW else 60)
            axes.set(xlabel="", xlim=(-0.6, ratios.size - 0.4))
        axes.legend(loc="upper right")
    return page.svg


def picture(found: MachineComparison) -> str:
    """Draw the B/A profile as inline SVG."""
    names = f"{found.b.name} over {found.a.name}"
    with canvas("machine", f"Speed-ups of the stressors, {names}: a histogram of the CPU group.", 3.6) as page:
        others = _others(found)
        above = page.axes(0.12, 0.86, bottom=0.42 if others else 0.12, height=0.5 if others else 0.8)
        panels = [above, page.axes(0.12, 0.86, bottom=0.12, height=0.22)] if others else [above]
        _histogram(above, found)
        if others:
            strips(panels[-1], others)
            panels[-1].grid(axis="y", color=FAINT, linewidth=0.3)
        panels[-1].set_xlabel("speed-up of B over A (dashed: range of the CPU stressors; lines: medians; dotted: 1)")
        low, high = above.get_xlim()
        every = [one.speed_up.value for one in found.ratios] + [one.speed_up for one in found.applications]
        low, high = min(low, *every), max(high, *every)
        edge = 0.03 * (high - low)
        for axes in panels:
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
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    for value, dashes in ((min(values), "--"), (float(np.median(values)), "-"), (max(values), "--")):
        axes.axvline(value, color=MITIGATED, linewidth=1.2, linestyle=dashes)


def _others(found: MachineComparison) -> list[Strip]:
    """Give a mark for each stressor of the other groups, and for each application: dark where the bound fails."""
    rows = [
        Strip(
            one.group,
            np.array([ratio.speed_up.value for ratio in found.ratios if ratio.group == one.group]),
            BASELINE,
            "|",
        )
        for one in found.groups
        if one.group != "cpu"
    ]
    for inside, name, colour in ((True, "applications", MITIGATED), (False, "applications outside", INK)):
        if values := [one.speed_up for one in found.applications if one.inside == inside]:
            rows.append(Strip(name, np.array(values), colour, "|"))
    return rows
