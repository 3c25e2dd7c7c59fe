"""Ask a surface about one configuration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linprog

from ...knowledge.errors import VgoError
from ..recorded.columns import nearest
from ..statistics.values import FloatArray
from .axes import Level, SurfaceAxis, encode
from .fitted import Prediction, Surface

MOST_HULL = 5000
"""Cells up to which it is asked whether a configuration lies between them."""


def predict(surface: Surface, config: Mapping[str, Level]) -> Prediction:
    """Predict the response at one configuration, with its interval, and say whether that is extrapolation.

    `config` gives every setting of the surface a number or a name. Raises VgoError for a setting or name it lacks.
    """
    axes = surface.record.axes
    known = [axis.name for axis in axes]
    for name in config:
        if name not in known:
            raise VgoError(f"The surface has no setting {name}: {nearest(name, known)}.")
    missing = next((axis for axis in axes if axis.name not in config), None)
    if missing:
        raise VgoError(f"{missing.name} has no value: add {missing.name}=VALUE, for example {_example(missing)}.")
    columns = {name: [_checked(axis, config[name])] for axis, name in zip(axes, known, strict=True)}
    point = encode(axes, columns)
    value = surface.at(columns)
    low, high = (end.item() for end in ends) if (ends := surface.interval(value)) else (None, None)
    return Prediction(
        value=value.item(),
        low=low,
        high=high,
        extrapolated=_outside(surface, point[0], {name: column[0] for name, column in columns.items()}),
        measured=_measured(surface, point[0]),
    )


def read_config(surface: Surface, words: list[str]) -> dict[str, Level]:
    """Read `name=value` words."""
    axes = {axis.name: axis for axis in surface.record.axes}
    found: dict[str, Level] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise VgoError(f"{word} is not SETTING=VALUE: write, for example, {_example(next(iter(axes.values())))}.")
        if name not in axes:
            raise VgoError(f"The surface has no setting {name}: {nearest(name, list(axes))}.")
        found[name] = axes[name].read(value)
    return found


def _checked(axis: SurfaceAxis, value: Level) -> Level:
    return axis.read(str(value) if axis.scale == "named" or isinstance(value, str) else repr(value))


def _example(axis: SurfaceAxis) -> str:
    level = axis.levels[0]
    return f"{axis.name}={level}" if isinstance(level, str) else f"{axis.name}={level:g}"


def _measured(surface: Surface, point: FloatArray) -> float | None:
    same = np.flatnonzero((np.abs(surface.points - point) < 1e-12).all(axis=1))
    return surface.record.values[int(same[0])] if same.size else None


def _outside(surface: Surface, point: FloatArray, config: Mapping[str, Level]) -> str:
    for axis in surface.record.axes:
        if axis.scale == "named":
            continue
        value, levels = float(config[axis.name]), axis.numbers
        if not levels[0] <= value <= levels[-1]:
            return f"{axis.name}={value:g} lies outside what was measured, {levels[0]:g} to {levels[-1]:g}"
    apart = float(surface.apart(point[None])[0])
    if apart <= 1e-12:
        return ""
    if apart > 1.5 * surface.widest_gap:
        return "no configuration near it was measured"
    if len(surface.points) <= MOST_HULL and not _between(surface.points, point):
        return "it lies beyond the measured configurations, not between them"
    return ""


def _between(points: FloatArray, point: FloatArray) -> bool:
    """Tell whether a point is a weighted mean of the others, that is, in their convex hull."""
    rows = np.vstack((points.T, np.ones(len(points))))
    solved = linprog(np.zeros(len(points)), A_eq=rows, b_eq=np.append(point, 1.0), bounds=(0, None), method="highs")
    return bool(solved.status == 0)
