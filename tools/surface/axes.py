"""The settings of a table as axes of a surface: scaled to 0 to 1, on the scale that suits their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ...knowledge.errors import VgoError
from ..recorded.columns import listed
from ..statistics.surface.model import evenly
from ..statistics.values import FiniteResult, FloatArray

Level = float | str
DECADES = 10.0
"""A positive setting whose largest level is so many times its smallest is taken by its logarithm."""
UNEVEN = 20.0
"""Levels of which two lie so many times closer than on average are spaced evenly."""
PER_LEVEL = 3
"""... where each has at least so many cells, so that they are levels and not points drawn at random."""


class SurfaceAxis(FiniteResult):
    """One setting."""

    name: str
    unit: str = ""
    scale: Literal["straight", "log", "levels", "named"]
    """levels: spaced evenly whatever their values, straight between them; named: no order."""
    levels: tuple[Level, ...]
    """The values that were measured, in order."""

    @property
    def numbers(self) -> FloatArray:
        """The levels of a setting that is a number."""
        return np.array(self.levels, dtype=np.float64)

    @property
    def words(self) -> str:
        """Say how it is scaled."""
        return {
            "straight": "as it is",
            "log": "by its logarithm",
            "levels": "levels evenly spaced",
            "named": "by name",
        }[self.scale]

    def encode(self, values: Sequence[Level]) -> FloatArray:
        """Place values on the axis: shape (values, columns), one column but for three and more names."""
        if self.scale == "named":
            return self._by_name(values)
        given, levels = np.array(values, dtype=np.float64), self.numbers
        if self.scale == "log":
            given, levels = np.log(np.maximum(given, levels[0] * 1e-6)), np.log(levels)
        if self.scale == "levels":
            return evenly(given, levels)[:, None]
        placed: FloatArray = ((given - levels[0]) / (levels[-1] - levels[0]))[:, None]
        return placed

    def _by_name(self, values: Sequence[Level]) -> FloatArray:
        """One column a name; two names are 1 apart."""
        if len(self.levels) == 2:
            return np.array([[float(value == self.levels[1])] for value in values]).reshape(-1, 1)
        placed: FloatArray = np.array([[value == level for level in self.levels] for value in values]) / np.sqrt(2)
        return placed

    def read(self, text: str) -> Level:
        """Read a value of this setting as the user wrote it."""
        if self.scale == "named":
            if text not in self.levels:
                raise VgoError(f"{self.name} has no level {text}: give one of {listed([str(v) for v in self.levels])}.")
            return text
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            raise VgoError(f"{self.name}={text} is no number: write one, for example {self.name}={self.levels[0]:g}.")
        return value


def axis_of(name: str, values: Sequence[Level], unit: str = "") -> SurfaceAxis:
    """Choose the scale by the levels; `values` has one entry a cell."""
    if any(isinstance(value, str) for value in values):
        return SurfaceAxis(name=name, unit=unit, scale="named", levels=tuple(sorted({str(value) for value in values})))
    levels = np.unique(np.array(values, dtype=np.float64))
    decades = levels[0] > 0 and levels[-1] / levels[0] >= DECADES
    gaps = np.diff(np.log(levels) if decades else levels)
    even = gaps.min() >= gaps.mean() / UNEVEN or len(values) < PER_LEVEL * len(levels)
    scale: Literal["straight", "log", "levels"] = "levels" if not even else "log" if decades else "straight"
    return SurfaceAxis(name=name, unit=unit, scale=scale, levels=tuple(map(float, levels)))


def encode(axes: Sequence[SurfaceAxis], columns: Mapping[str, Sequence[Level]]) -> FloatArray:
    """Place configurations in the space of the surface, shape (configurations, columns)."""
    return np.hstack([axis.encode(columns[axis.name]) for axis in axes])
