"""Pictures with a row an arm and a mark a run: levels of a search, nodes, settings of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ...tools.nodes.analyse import NodeComparison, Nodes
from ...tools.recorded.recorded import Observations
from ...tools.row import BASELINE as GIVEN
from .canvas import BASELINE, FAINT, INK, MITIGATED, Canvas, canvas
from .figures import MOST_MARKERS, Floats, Outcomes, short, window

JITTER = 0.28
"""Of the step between two rows."""
ROW = 0.19
"""Inches of height for each row; few rows are twice as tall."""
FEW = 8
MOST_DRAWN = 24
"""Nodes whose runs are drawn one by one: odd ones first, then the ends of the order."""


class Strip(NamedTuple):
    """The values of one row, from the top."""

    name: str
    values: Floats
    colour: str = MITIGATED
    marker: str = "o"


def strips(axes: Axes, rows: Sequence[Strip], sd: bool = False) -> None:
    """Draw a mark for each value, and for each row the median or, with `sd`, the mean with one SD to either side."""
    many = sum(row.values.size for row in rows) > MOST_MARKERS
    for place, (_, values, colour, marker) in enumerate(rows):
        # Apart from each other by their order, so that the same runs give the same bytes.
        apart = JITTER * (2 * ((np.arange(values.size) * 0.618034) % 1) - 1)
        axes.plot(
            values,
            place + apart,
            linestyle="none",
            marker=marker,
            markersize=6 if marker == "|" else 3,
            markeredgewidth=0.8 if marker == "|" else 0,
            color=colour,
            alpha=0.6,
            rasterized=many,
        )
        if sd:
            size = float(values.std(ddof=1)) if values.size > 1 else 0.0
            axes.errorbar([float(values.mean())], [place], xerr=[size], color=INK, marker=".", capsize=2, linewidth=1)
        else:
            axes.plot([float(np.median(values))] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=1.2)
    name_rows(axes, [row.name for row in rows])


def name_rows(axes: Axes, names: Sequence[str], most: int = 28) -> None:
    """Name the rows of a picture, from the top."""
    axes.set_yticks(range(len(names)), [short(name, most) for name in names])
    axes.set(ylim=(len(names) - 0.4, -0.6))


def height_of(rows: int) -> float:
    """Inches of a picture with so many rows."""
    return 0.75 + ROW * rows * (2 if rows <= FEW else 1)


def row_axes(page: Canvas, left: float, height: float) -> Axes:
    """Place axes beside the names of rows, with room for a title and for the label below."""
    return page.axes(left, 0.98 - left, 0.45 / height, 1 - 0.75 / height)


def levels_figure(outcomes: Mapping[str, Floats], best: str | None, parameter: str, axis: Outcomes) -> str:
    """Draw every run of the levels in the order asked for, the baseline first, and their mean and SD."""
    drawn = {level: values for level, values in outcomes.items() if values.size}
    if len(drawn) < 2:
        return ""
    everything = np.concatenate(list(drawn.values()))
    unit = axis.scale(everything)
    view = window(everything * unit.factor, unit.unit)
    height = height_of(len(drawn))
    with canvas("levels", f"Outcomes of {len(drawn) - 1} levels of {parameter} beside the baseline.", height) as page:
        axes = row_axes(page, 0.2, height)
        colours = [BASELINE, *(MITIGATED if level == best else FAINT for level in list(drawn)[1:])]
        named = zip(drawn.items(), colours, strict=True)
        strips(axes, [Strip(level, values * unit.factor, colour) for (level, values), colour in named], sd=True)
        axes.set(xlim=(view.low, view.high), title=f"levels of {parameter}, with mean and SD")
        axes.set_xlabel(axis.label(unit.unit, view))
    return page.svg


def distributions(found: NodeComparison, design: Observations, nodes: Nodes) -> str:
    """Draw each run as a mark in the row of its node, and the median of the node; odd nodes are triangles."""
    shown = [found.nodes[place] for place in _shown(found)]
    axis = Outcomes(found.outcome, found.unit)
    unit = axis.scale(design.outcome)
    view = window(design.outcome * unit.factor, unit.unit)
    rows = [
        Strip(
            node.name,
            np.clip(design.outcome[nodes.codes == nodes.names.index(node.name)] * unit.factor, view.low, view.high),
            *((BASELINE, "^") if node.odd else (MITIGATED, "o")),
        )
        for node in shown
    ]
    words = f"Runs of {len(shown)} of {len(found.nodes)} nodes, one row a node; odd nodes are triangles."
    height = height_of(len(rows))
    with canvas("nodes", words, height) as page:
        axes = row_axes(page, 0.2, height)
        strips(axes, rows)
        axes.set(xlim=(view.low, view.high), xlabel=axis.label(unit.unit, view))
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


def normalised(times: Mapping[str, Floats], chosen: str | None) -> str:
    """Draw every run over the mean of its setting, with the SD: what the paper shows, with nothing left out."""
    finite = {name: values[np.isfinite(values)] for name, values in times.items()}
    rows = [
        Strip(name, values / values.mean(), {GIVEN: BASELINE, chosen: MITIGATED}.get(name, FAINT), "|")
        for name, values in finite.items()
        if values.size > 1 and values.mean()
    ]
    if not rows:
        return ""
    height = height_of(len(rows))
    words = f"Runs of {len(rows)} settings, each divided by the mean of its setting."
    with canvas("study-normalised", words, height) as page:
        axes = row_axes(page, 0.32, height)
        strips(axes, rows, sd=True)
        axes.set_xlabel("outcome over the mean of the setting; the black bar is one SD")
    return page.svg
