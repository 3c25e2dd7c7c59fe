"""The pictures of a fleet: the runs of each node, and how nodes compare."""

from __future__ import annotations

import numpy as np

from ...tools.nodes.analyse import Nodes
from ...tools.nodes.node_comparison import NodeComparison
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
