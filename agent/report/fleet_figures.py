"""Pictures of machines: the runs of each node, and the profile of one machine over another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ...tools.machine_profile.compare import MachineComparison
from ...tools.nodes.analyse import NodeComparison, Nodes
from ...tools.recorded.shapes import Observations
from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas
from .figures import MOST_MARKERS, Outcomes, window

MOST_DRAWN = 24
"""Nodes whose runs are drawn one by one: odd ones first, then the ends of the order."""
ROW_IN = 0.17
FEW = 8
"""Up to so many nodes have rows and marks that are twice as large."""


def distributions(found: NodeComparison, design: Observations, nodes: Nodes) -> str:
    """Draw each run as a mark in the row of its node, and the median of the node."""
    shown = _shown(found)
    unit = Outcomes(found.outcome, found.unit).scale(design.outcome)
    view = window(design.outcome * unit.factor, unit.unit)
    words = f"Runs of {len(shown)} of {len(found.nodes)} nodes, one row a node; odd nodes are triangles."
    large = 2 if len(shown) <= FEW else 1
    height_in = 0.7 + large * ROW_IN * len(shown)
    with canvas("nodes", words, height_in) as page:
        bottom = 0.45 / height_in
        axes = page.axes(0.2, 0.78, bottom, 0.93 - bottom)
        rng = np.random.default_rng(0)
        for row, place in enumerate(shown):
            node = found.nodes[place]
            values = design.outcome[nodes.codes == nodes.names.index(node.name)] * unit.factor
            height = row + rng.uniform(-0.28, 0.28, values.size)
            axes.plot(
                np.clip(values, view.low, view.high),
                height,
                linestyle="none",
                marker="^" if node.odd else "o",
                markersize=2.2 if large == 1 else 3.5,
                markeredgewidth=0,
                color=BASELINE if node.odd else MITIGATED,
                alpha=0.5,
                rasterized=values.size * len(shown) > MOST_MARKERS,
            )
            axes.plot(
                [np.clip(np.median(values), view.low, view.high)] * 2, [row - 0.4, row + 0.4], color=INK, linewidth=1
            )
        axes.set(xlim=(view.low, view.high), ylim=(len(shown) - 0.4, -0.6), title=view.note)
        axes.set_yticks(range(len(shown)), [found.nodes[place].name[:24] for place in shown])
        axes.set_xlabel(Outcomes(found.outcome, found.unit).label(unit.unit))
    return page.svg


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


def _shown(found: NodeComparison) -> list[int]:
    """Places of the nodes to draw, in the order of the fleet."""
    order = range(len(found.nodes))
    if len(found.nodes) <= MOST_DRAWN:
        return list(order)
    odd = [place for place in order if found.nodes[place].odd][: MOST_DRAWN // 2]
    rest = [place for place in order if place not in odd]
    half = (MOST_DRAWN - len(odd)) // 2
    return sorted({*odd, *rest[:half], *rest[-half:]})


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
