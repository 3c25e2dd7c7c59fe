"""Cuts through a surface: along one setting, or over two, the others held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...knowledge.errors import VgoError
from ..recorded.columns import nearest
from ..statistics.values import FiniteResult
from .ask import read_config
from .axes import Level, SurfaceAxis
from .explain import effects
from .fitted import Surface

STEPS = 25
"""Points along a setting with more levels than this."""


class Slice(FiniteResult):
    """Predictions over a grid."""

    response: str
    axes: tuple[str, ...]
    """One or two settings."""
    levels: tuple[tuple[Level, ...], ...]
    held: dict[str, Level]
    values: tuple[tuple[float, ...], ...]
    """A row for each level of the second setting (one row without it), a column for each of the first."""


def cut(surface: Surface, names: Sequence[str] = (), at: Sequence[str] = ()) -> Slice:
    """Cut along the named settings, at most two; without names along the two that explain most.

    Settings that `at` does not hold are held at the middle one of their levels.
    """
    axes = {axis.name: axis for axis in surface.record.axes}
    held = read_config(surface, list(at))
    for name in names:
        if name not in axes:
            raise VgoError(f"The surface has no setting {name} (--axes): {nearest(name, list(axes))}.")
        if name in held:
            raise VgoError(f"{name} is given to --axes and to --at: give it to one.")
    if len(names) > 2:
        raise VgoError("--axes takes one setting or two: hold the others with --at.")
    shown = [axes[name] for name in names] or _strongest(surface, held)
    for axis in surface.record.axes:
        if axis not in shown and axis.name not in held:
            held[axis.name] = _middle(surface, axis, held)
    levels = [_levels(axis) for axis in shown]
    first, second = levels[0], levels[1] if len(levels) > 1 else [None]
    rows = [_row(surface, shown, first, level, held) for level in second]
    return Slice(
        response=surface.record.response,
        axes=tuple(axis.name for axis in shown),
        levels=tuple(map(tuple, levels)),
        held=held,
        values=tuple(rows),
    )


def _row(
    surface: Surface, shown: Sequence[SurfaceAxis], first: list[Level], level: Level | None, held: dict[str, Level]
) -> tuple[float, ...]:
    columns: dict[str, list[Level]] = {name: [value] * len(first) for name, value in held.items()}
    columns[shown[0].name] = first
    if level is not None:
        columns[shown[1].name] = [level] * len(first)
    return tuple(map(float, surface.at(columns)))


def _strongest(surface: Surface, held: dict[str, Level]) -> list[SurfaceAxis]:
    order = sorted(effects(surface), key=lambda pair: -pair[1])
    free = [axis for axis, _ in order if axis.name not in held]
    if not free:
        raise VgoError("--at holds every setting: leave one free, or use `vgo-agent surface predict`.")
    return free[:2]


def _middle(surface: Surface, axis: SurfaceAxis, held: dict[str, Level]) -> Level:
    """Take the level that most cells have, of those that share what is held; of equally many the middle one."""
    columns = surface.record.columns
    rows = range(len(surface.record.values))
    alike = [row for row in rows if all(columns[name][row] == value for name, value in held.items())] or list(rows)
    counts = [sum(columns[axis.name][row] == level for row in alike) for level in axis.levels]
    most = [level for level, count in zip(axis.levels, counts, strict=True) if count == max(counts)]
    return most[len(most) // 2]


def _levels(axis: SurfaceAxis) -> list[Level]:
    if axis.scale == "named" or len(axis.levels) <= STEPS:
        return list(axis.levels)
    numbers = axis.numbers
    spaced = np.geomspace if axis.scale == "log" else np.linspace
    return [float(value) for value in spaced(numbers[0], numbers[-1], STEPS)]
