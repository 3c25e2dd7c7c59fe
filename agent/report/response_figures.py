"""Pictures of a response over settings: of the cells of a sweep, and of the surface fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import NullLocator

from ...tools.sweep.space import Level, Space
from .figures import WRITTEN, Floats, in_unit, plain
from .numbers import level_text, number, scale, statistic_name
from .svg import BASELINE, FAINT, INK, MITIGATED, Canvas, canvas

if TYPE_CHECKING:  # scikit-learn takes its time, and a sweep has no surface
    from ...tools.surface.explain import Slice, SurfaceExplanation
    from ...tools.surface.fitted import Surface
    from ...tools.surface.predict import Best, Field
    from ...tools.surface.stored import Fitted

MOST_LEVELS = 30
"""Along an axis of a heat map; more levels are drawn as points."""
MOST_WRITTEN = 60
"""Cells of a heat map whose numbers still fit in."""
MOST_VECTORS = 1500
"""Marks above which they become a bitmap."""
MOST_TICKS = 10
COLOURS = "cividis"
Row = Mapping[str, Any]


class SettingAxis(NamedTuple):
    """One setting along an edge, its levels in order."""

    name: str
    unit: str
    levels: tuple[Level, ...]

    @property
    def numeric(self) -> bool:
        """Whether its levels have distances."""
        return not any(isinstance(level, str) for level in self.levels)

    def places(self, rows: Sequence[Row]) -> Floats:
        """Where each row stands: its level, or the place of its level."""
        levels = [row["values"][self.name] for row in rows]
        return np.array(levels if self.numeric else list(map(self.levels.index, levels)), dtype=np.float64)


def figure(space: Space, cells: Sequence[Row], unit: str) -> str:
    """Draw the response of a design over the parameters that say most: a line over one, a map or dots over two."""
    response = space.design.response
    rows = [row for row in cells if row[response] is not None and not row["reason"]]
    axes = [axis for name in space.parameters if len((axis := _axis(name, space, rows)).levels) > 1]
    if len(rows) < 2 or not axes:
        return ""
    axes.sort(key=lambda axis: -_share(axis, rows, response))
    view = scale("" if response == "cv" else unit, max(abs(row[response]) for row in rows))
    label = in_unit(statistic_name(response), view.unit)
    values = np.array([row[response] for row in rows], dtype=np.float64) * view.factor
    words = f"{label} of {len(rows)} cells over {' and '.join(axis.name for axis in axes[:2])}."
    with canvas("sweep", words, 3.4) as page:
        area = page.axes(0.12, 0.74 if len(axes) > 1 else 0.84, 0.16, 0.76)
        if len(axes) == 1:
            at = axes[0].places(rows)
            order = np.argsort(at, kind="stable")
            area.plot(at[order], values[order], "o-", color=MITIGATED, markersize=4, linewidth=1)
            area.set(ylabel=label, ylim=(min(0.0, float(values.min())), None))
        elif _fits(axes[0], axes[1], rows):
            _heat(page, area, _means(axes[0], axes[1], rows, values), label)
        else:
            at, up = axes[0].places(rows), axes[1].places(rows)
            drawn = area.scatter(at, up, c=values, cmap=COLOURS, s=28, edgecolors=FAINT)
            _colour_bar(page, area, drawn, label)
        mapped = len(axes) > 1 and _fits(axes[0], axes[1], rows)
        for axis, along in zip(axes, (area.xaxis, area.yaxis), strict=False):
            _name(along, axis, every=mapped or not axis.numeric)
        rest = ", ".join(axis.name for axis in axes[2:])
        area.set_title(f"{label}, mean over {rest}" if rest else label)
    return page.svg


def _axis(name: str, space: Space, rows: Sequence[Row]) -> SettingAxis:
    levels = tuple(dict.fromkeys(row["values"][name] for row in rows))
    axis = SettingAxis(name, space.parameters[name].unit, levels)
    return axis._replace(levels=tuple(sorted(levels))) if axis.numeric else axis


def _share(axis: SettingAxis, rows: Sequence[Row], response: str) -> float:
    """Share of the response's variance between the levels of a parameter; of many levels, between four classes."""
    values = np.array([row[response] for row in rows], dtype=np.float64)
    places = np.array([axis.levels.index(row["values"][axis.name]) for row in rows])
    classes = places if len(axis.levels) <= 6 else places * 4 // len(axis.levels)
    means = (np.bincount(classes, values) / np.maximum(np.bincount(classes), 1))[classes]
    return float(((means - values.mean()) ** 2).sum() / max(((values - values.mean()) ** 2).sum(), 1e-300))


def _fits(across: SettingAxis, up: SettingAxis, rows: Sequence[Row]) -> bool:
    pairs = {(row["values"][across.name], row["values"][up.name]) for row in rows}
    room = len(across.levels) * len(up.levels)
    return max(len(across.levels), len(up.levels)) <= MOST_LEVELS and 2 * len(pairs) > room


def _means(across: SettingAxis, up: SettingAxis, rows: Sequence[Row], values: Floats) -> Floats:
    """Mean of the cells at each pair of levels, shape (up, across); NaN where there is none."""
    sums, counts = (np.zeros((len(up.levels), len(across.levels))) for _ in range(2))
    for row, value in zip(rows, values, strict=True):
        place = up.levels.index(row["values"][up.name]), across.levels.index(row["values"][across.name])
        sums[place] += value
        counts[place] += 1
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _heat(page: Canvas, area: Axes, means: Floats, label: str, logarithmic: bool = False) -> None:
    """Draw a map of shape (up, across), with numbers where they fit in."""
    drawn = area.imshow(
        means, origin="lower", aspect="auto", cmap=COLOURS, norm="log" if logarithmic else "linear", rasterized=True
    )
    bar = _colour_bar(page, area, drawn, label)
    if logarithmic:
        plain(bar)
    if means.size > MOST_WRITTEN:
        return
    middle = (np.nanmin(means) + np.nanmax(means)) / 2
    for (row, column), value in np.ndenumerate(means):
        if np.isfinite(value):
            colour = "#ffffff" if value < middle else "#1c2128"
            area.text(column, row, number(value, 3), ha="center", va="center", fontsize=7, color=colour)


def _colour_bar(page: Canvas, area: Axes, drawn: Any, label: str) -> Axis:
    place = area.get_position()
    side = page.axes(place.x1 + 0.02, 0.02, place.y0, place.height)
    page.figure.colorbar(drawn, cax=side).set_label(label)
    return side.yaxis


def _name(along: Axis, axis: SettingAxis, every: bool) -> None:
    """Name a setting along an edge; `every`: its levels stand in equal steps and are named, of many only some."""
    along.set_label_text(in_unit(axis.name, axis.unit))
    if every:
        step = max(1, -(-len(axis.levels) // MOST_TICKS))
        places = range(0, len(axis.levels), step)
        along.set_ticks(list(places), [level_text(axis.levels[place]) for place in places])
        along.set_minor_locator(NullLocator())


def fit_figure(surface: Surface) -> str:
    """Draw what the chosen model said of each cell that it did not see."""
    record = surface.record
    told = np.array([np.nan if value is None else value for value in record.unseen], dtype=np.float64)
    measured = np.array(record.values)
    unit = scale(record.unit, float(np.median(measured)))
    with canvas("surface-fit", f"Predicted against measured {record.response} of {len(measured)} cells.", 3.4) as page:
        axes = page.axes(0.1, 0.5, 0.14, 0.76)
        x, y = measured * unit.factor, told * unit.factor
        axes.plot(x, y, "o", color=MITIGATED, markersize=2.5, alpha=0.6, rasterized=len(x) > MOST_VECTORS)
        ends = [float(x.min()), float(x.max())]
        axes.plot(ends, ends, color=INK, linewidth=0.8, linestyle=":")
        if record.logarithmic and x.min() > 0:
            axes.set(xscale="log", yscale="log")
            plain(axes.xaxis)
            plain(axes.yaxis)
        axes.set_xlabel(in_unit(f"measured {record.response}", unit.unit))
        axes.set_ylabel(in_unit("predicted", unit.unit))
        axes.set_title(f"{record.model}: cells that it did not see ({record.how})")
    return page.svg


def share_figure(explained: SurfaceExplanation) -> str:
    """Draw the share of each setting, alone and with others."""
    order = sorted(explained.shares, key=lambda one: one.total)
    height = 0.9 + 0.32 * len(order)
    with canvas("surface-shares", "Shares of the variability that each setting explains.", height) as page:
        axes = page.axes(0.24, 0.6, 0.45 / height, 1 - 0.75 / height)
        names = [one.setting for one in order]
        axes.barh(names, [100 * one.total for one in order], color=FAINT, height=0.6, label="with others")
        axes.barh(names, [100 * one.alone for one in order], color=MITIGATED, height=0.3, label="alone")
        axes.set(xlim=(0, 100), xlabel="% of the variance of the fitted surface")
        axes.legend(loc="lower right")
    return page.svg


def slice_figure(surface: Surface, found: Slice) -> str:
    """Draw a line along one setting, or a heat map over two."""
    values = np.array(found.values)
    unit = scale(surface.record.unit, float(np.median(values)))
    units = {axis.name: axis.unit for axis in surface.record.axes}
    axes = [SettingAxis(name, units[name], levels) for name, levels in zip(found.axes, found.levels, strict=False)]
    held = ", ".join(f"{name}={level_text(value)} {units[name]}".rstrip() for name, value in found.held.items())
    label = in_unit(found.response, unit.unit)
    with canvas("surface-slice", f"{found.response} over {' and '.join(found.axes)}.", 3.2) as page:
        area = page.axes(0.14, 0.62, 0.17, 0.72)
        if len(axes) == 1:
            area.plot(np.arange(values.shape[1]), values[0] * unit.factor, "o-", color=MITIGATED, markersize=4)
            area.set_ylabel(label)
            if surface.record.logarithmic:
                area.set_yscale("log")
                plain(area.yaxis)
        else:
            _heat(page, area, values * unit.factor, label, surface.record.logarithmic)
        for axis, along in zip(axes, (area.xaxis, area.yaxis), strict=False):
            _name(along, axis, every=True)
        area.set_title(f"at {held}" if held else found.response)
    return page.svg


def front_figure(fitted: Fitted, field: Field, found: Best) -> str:
    """Draw mean against spread for all candidates, the front and the chosen one; empty where no mean is known."""
    if field.mean is None or fitted.mean is None:
        return ""
    record = fitted.response.record
    x_unit = scale(fitted.mean.record.unit, float(np.median(field.mean)))
    y_unit = scale(record.unit, float(np.median(field.response)))
    x, y, cells = field.mean * x_unit.factor, field.response * y_unit.factor, field.measured >= 0
    words = f"Mean against {record.response} of {len(x)} configurations, and the front that none beats in both."
    with canvas("surface-front", words, 3.4) as page:
        axes = page.axes(0.1, 0.62, 0.15, 0.76)
        many = len(x) > MOST_VECTORS
        if not cells.all():
            axes.plot(x[~cells], y[~cells], ".", color=FAINT, markersize=3, label="not measured", rasterized=many)
        axes.plot(x[cells], y[cells], "o", color=MITIGATED, markersize=3, label="measured", rasterized=many)
        front = [
            (one.mean * x_unit.factor, one.response * y_unit.factor) for one in found.front if one.mean is not None
        ]
        axes.plot(*zip(*front, strict=True), color=BASELINE, linewidth=1.2, label="front")
        if found.best.mean is not None:
            at = (found.best.mean * x_unit.factor, found.best.response * y_unit.factor)
            axes.plot(*at, "*", color=BASELINE, markersize=11, label="chosen")
        if record.logarithmic and y.min() > 0:
            axes.set_yscale("log")
            plain(axes.yaxis)
        axes.xaxis.set_major_formatter(WRITTEN)
        better = "left" if record.lower_is_better else "right"
        axes.set_xlabel(f"{in_unit(f'mean {record.outcome}', x_unit.unit)} ({better}: better)")
        axes.set_ylabel(in_unit(record.response, y_unit.unit))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return page.svg
