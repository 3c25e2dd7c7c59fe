"""What `vgo-agent surface fit --save` writes beside the surface: the report as Markdown and HTML, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from ...tools.surface.axes import Level
from ...tools.surface.best import Best, Field, best
from ...tools.surface.explain import Slice, SurfaceExplanation, cut
from ...tools.surface.fitted import Surface
from ...tools.surface.stored import Fitted
from ..render.files import document_files
from .canvas import BASELINE, FAINT, INK, MITIGATED, canvas
from .numbers import number, scale
from .saving import save_files
from .surface import document

MOST_VECTORS = 1500
"""Marks above which they become a bitmap."""
MOST_TICKS = 10
_WRITTEN = FuncFormatter(lambda value, _: number(value, 3))


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
            _plain(axes.xaxis)
            _plain(axes.yaxis)
        axes.set_xlabel(_label(f"measured {record.response}", unit.unit))
        axes.set_ylabel(_label("predicted", unit.unit))
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
    held = ", ".join(f"{name}={_tick(value)} {units[name]}".rstrip() for name, value in found.held.items())
    words = f"{found.response} over {' and '.join(found.axes)}."
    with canvas("surface-slice", words, 3.2) as page:
        axes = page.axes(0.14, 0.62, 0.17, 0.72)
        if len(found.axes) == 1:
            axes.plot(np.arange(values.shape[1]), values[0] * unit.factor, "o-", color=MITIGATED, markersize=4)
            axes.set_ylabel(_label(found.response, unit.unit))
            if surface.record.logarithmic:
                axes.set_yscale("log")
                _plain(axes.yaxis)
        else:
            _heat(axes, values * unit.factor, _label(found.response, unit.unit), surface.record.logarithmic)
            _ticks(axes, "y", found.levels[1])
            axes.set_ylabel(_label(found.axes[1], units[found.axes[1]]))
        _ticks(axes, "x", found.levels[0])
        axes.set_xlabel(_label(found.axes[0], units[found.axes[0]]))
        axes.set_title(f"at {held}" if held else found.response)
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
            _plain(axes.yaxis)
        axes.xaxis.set_major_formatter(_WRITTEN)
        better = "left" if record.lower_is_better else "right"
        axes.set_xlabel(f"{_label(f'mean {record.outcome}', x_unit.unit)} ({better}: better)")
        axes.set_ylabel(_label(record.response, y_unit.unit))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return page.svg


def _heat(axes: Axes, values: np.ndarray, label: str, logarithmic: bool) -> None:
    drawn = axes.imshow(
        values, origin="lower", aspect="auto", cmap="cividis", norm="log" if logarithmic else "linear", rasterized=True
    )
    bar = axes.figure.colorbar(drawn, ax=axes, fraction=0.05, pad=0.02)
    bar.set_label(label)
    if logarithmic:
        _plain(bar.ax.yaxis)


def _ticks(axes: Axes, which: str, levels: tuple[Level, ...]) -> None:
    """Name the levels, of many only some."""
    step = max(1, -(-len(levels) // MOST_TICKS))
    places = range(0, len(levels), step)
    named = [_tick(levels[place]) for place in places]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks(list(places), named)
    axis.set_minor_locator(NullLocator())


def _plain(axis: Axis) -> None:
    """Write numbers at 1, 2 and 5 of each decade, as few as fit, and no powers of ten: text is not typeset here."""
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low) if low > 0 else 1.0
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    axis.set_major_formatter(_WRITTEN)
    axis.set_minor_formatter(NullFormatter())


def _tick(level: Level) -> str:
    return level if isinstance(level, str) else number(level)


def _label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def save_report(fitted: Fitted, explained: SurfaceExplanation, folder: Path) -> list[str]:
    """Write everything, and return the paths; the folder is there."""
    page = document(fitted, explained, _pictures(fitted, explained))
    return list(map(str, save_files(folder, document_files(page))))


def _pictures(fitted: Fitted, explained: SurfaceExplanation) -> Mapping[str, str]:
    surface = fitted.response
    drawn = {
        "fit": fit_figure(surface),
        "shares": share_figure(explained),
        "map": slice_figure(surface, cut(surface)),
    }
    found, field = best(fitted, surface.record.response, seed=surface.record.seed)
    front = front_figure(fitted, field, found)
    return {**drawn, "front": front} if front else drawn
