"""Pictures with a row an arm and a mark a run: levels of a search, nodes, settings of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ...tools.claim import in_a_word
from ...tools.machine_profile.compare import MachineComparison
from ...tools.nodes.analyse import NodeComparison, Nodes
from ...tools.recorded.recorded import Observations
from ...tools.recorded_comparison.compare import ComparedValues, Contrasted
from ...tools.row import BASELINE as GIVEN
from ...tools.statistics.comparison.description import Description
from .figures import MOST_MARKERS, DrawnArm, Floats, Outcomes, bin_edges, histograms, in_unit, short, window
from .numbers import Scale
from .svg import BASELINE, FAINT, INK, MITIGATED, Canvas, canvas

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


MOST_PICTURED = 12
ROW_OF_AN_ARM = 2.5


def comparison_figure(found: Contrasted, values: ComparedValues) -> str:
    """Draw a row for each arm, of the first twelve."""
    axis = Outcomes(found.metric, found.unit)
    shown = found.arms[:MOST_PICTURED]
    names = ", ".join(arm.name for arm in shown)
    height = ROW_OF_AN_ARM * len(shown)
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
