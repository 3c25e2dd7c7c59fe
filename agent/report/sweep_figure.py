"""The picture of a sweep: its response over the one or two parameters that say most about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ...tools.sweep.space import Level, Space, shown
from .canvas import FAINT, INK, MITIGATED, canvas
from .numbers import number, scale, statistic_name

MOST_LEVELS = 30
"""Along an axis of a heat map; more levels are drawn as points."""
MOST_WRITTEN = 60
"""Cells of a heat map whose numbers still fit in."""
COLOURS = "viridis"
Row = Mapping[str, Any]


class Axis(NamedTuple):
    """One parameter along an edge."""

    name: str
    unit: str
    levels: tuple[Level, ...]
    numeric: bool

    @property
    def title(self) -> str:
        """Its name, with the unit."""
        return f"{self.name} in {self.unit}" if self.unit else self.name

    @property
    def labels(self) -> list[str]:
        """Levels as they are written."""
        return [shown(level) for level in self.levels]


def figure(space: Space, cells: Sequence[Row], unit: str) -> str:
    """Draw the response of the design: a line or dots over one parameter, a heat map or dots over two."""
    response = space.design.response
    rows = [row for row in cells if row[response] is not None and not row["reason"]]
    axes = [axis for name in space.parameters if len((axis := _axis(name, space, rows)).levels) > 1]
    if len(rows) < 2 or not axes:
        return ""
    axes.sort(key=lambda axis: -_share(axis, rows, response))
    view = scale("" if response == "cv" else unit, max(abs(row[response]) for row in rows))
    label = f"{statistic_name(response)} in {view.unit}" if view.unit else statistic_name(response)
    values = np.array([row[response] for row in rows], dtype=np.float64) * view.factor
    words = f"{label} of {len(rows)} cells over {' and '.join(axis.name for axis in axes[:2])}."
    with canvas("sweep", words, 3.4) as page:
        area = page.axes(0.12, 0.74 if len(axes) > 1 else 0.84, 0.16, 0.76)
        if len(axes) == 1:
            _one(area, axes[0], rows, values, label)
        else:
            drawn = (_map if _fits(axes[0], axes[1], rows) else _dots)(area, axes[0], axes[1], rows, values)
            side = page.axes(0.89, 0.02, 0.16, 0.76)
            page.figure.colorbar(drawn, cax=side).set_label(label)
        rest = ", ".join(axis.name for axis in axes[2:])
        area.set_title(f"{label}, mean over {rest}" if rest else label)
    return page.svg


def _axis(name: str, space: Space, rows: Sequence[Row]) -> Axis:
    levels = tuple(dict.fromkeys(row["values"][name] for row in rows))
    numeric = not any(isinstance(level, str) for level in levels)
    return Axis(name, space.parameters[name].unit, tuple(sorted(levels)) if numeric else levels, numeric)


def _share(axis: Axis, rows: Sequence[Row], response: str) -> float:
    """Share of the response's variance between the levels of a parameter; of many levels, between four classes."""
    values = np.array([row[response] for row in rows], dtype=np.float64)
    places = np.array([axis.levels.index(row["values"][axis.name]) for row in rows])
    classes = places if len(axis.levels) <= 6 else places * 4 // len(axis.levels)
    means = pd.Series(values).groupby(classes).transform("mean")
    return float(((means - values.mean()) ** 2).sum() / max(((values - values.mean()) ** 2).sum(), 1e-300))


def _fits(across: Axis, up: Axis, rows: Sequence[Row]) -> bool:
    pairs = {(row["values"][across.name], row["values"][up.name]) for row in rows}
    room = len(across.levels) * len(up.levels)
    return max(len(across.levels), len(up.levels)) <= MOST_LEVELS and 2 * len(pairs) > room


def _one(area: Axes, axis: Axis, rows: Sequence[Row], values: Any, label: str) -> None:
    at = _places(axis, rows)
    order = np.argsort(at, kind="stable")
    area.plot(at[order], values[order], "o-", color=MITIGATED, markersize=4, linewidth=1)
    area.set(xlabel=axis.title, ylabel=label, ylim=(min(0.0, float(values.min())), None))
    if not axis.numeric:
        area.set_xticks(range(len(axis.levels)), axis.labels)


def _map(area: Axes, across: Axis, up: Axis, rows: Sequence[Row], values: Any) -> Any:
    sums, counts = (np.zeros((len(up.levels), len(across.levels))) for _ in range(2))
    for row, value in zip(rows, values, strict=True):
        place = up.levels.index(row["values"][up.name]), across.levels.index(row["values"][across.name])
        sums[place] += value
        counts[place] += 1
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    drawn = area.pcolormesh(np.ma.masked_invalid(means), cmap=COLOURS, edgecolors="face", linewidth=0.2)
    if means.size <= MOST_WRITTEN:
        _write(area, means)
    area.set_xticks(np.arange(len(across.levels)) + 0.5, across.labels)
    area.set_yticks(np.arange(len(up.levels)) + 0.5, up.labels)
    area.set(xlabel=across.title, ylabel=up.title)
    return drawn


def _write(area: Axes, means: Any) -> None:
    middle = (np.nanmin(means) + np.nanmax(means)) / 2
    for (row, column), value in np.ndenumerate(means):
        if np.isfinite(value):
            colour = "#ffffff" if value < middle else "#1c2128"
            area.text(column + 0.5, row + 0.5, number(value, 3), ha="center", va="center", fontsize=7, color=colour)


def _dots(area: Axes, across: Axis, up: Axis, rows: Sequence[Row], values: Any) -> Any:
    drawn = area.scatter(_places(across, rows), _places(up, rows), c=values, cmap=COLOURS, s=28, edgecolors=FAINT)
    area.set(xlabel=across.title, ylabel=up.title)
    if not across.numeric:
        area.set_xticks(range(len(across.levels)), across.labels)
    if not up.numeric:
        area.set_yticks(range(len(up.levels)), up.labels)
    area.tick_params(colors=INK)
    return drawn


def _places(axis: Axis, rows: Sequence[Row]) -> Any:
    levels = [row["values"][axis.name] for row in rows]
    return np.array(levels if axis.numeric else list(map(axis.levels.index, levels)), dtype=np.float64)
