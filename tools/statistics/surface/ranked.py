"""Coordinates by rank: the levels of each dimension evenly spaced, for models that see distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..values import FloatArray
from .model import SurfaceEstimator, SurfaceModel

MOST_LEVELS = 64
"""A dimension with more distinct values is left as it is: they are points drawn at random, and no levels."""


@dataclass(frozen=True)
class RankModel:
    """A model that sees ranks."""

    inner: SurfaceModel
    levels: tuple[FloatArray, ...]

    def predict(self, x: FloatArray) -> FloatArray:
        """Rank, then predict."""
        return self.inner.predict(ranked(x, self.levels))


@dataclass(frozen=True)
class RankedRecipe:
    """Fits another recipe to ranks."""

    inner: SurfaceEstimator

    def tuned(self, x: FloatArray, y: FloatArray) -> RankedRecipe:
        """Tune the other recipe on ranks."""
        return replace(self, inner=self.inner.tuned(ranked(x, levels_of(x)), y))

    def fit(self, x: FloatArray, y: FloatArray) -> RankModel:
        """Fit the other recipe to ranks."""
        levels = levels_of(x)
        return RankModel(self.inner.fit(ranked(x, levels), y), levels)


def levels_of(x: FloatArray) -> tuple[FloatArray, ...]:
    """Distinct values of each dimension, in order; only the ends where there are too many to be levels."""
    found = (np.unique(column) for column in x.T)
    return tuple(values if len(values) <= MOST_LEVELS else values[[0, -1]] for values in found)


def ranked(x: FloatArray, levels: Sequence[FloatArray]) -> FloatArray:
    """Place points (points, dimensions) between the ranks of levels of each dimension."""
    return np.column_stack([evenly(values, known) for values, known in zip(x.T, levels, strict=True)])


def evenly(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Place values between the ranks of ascending levels, 0 to 1; beyond the ends by the mean distance of levels."""
    steps, width = max(len(levels) - 1, 1), float(levels[-1] - levels[0]) or 1.0
    beyond = np.minimum(values - levels[0], 0) + np.maximum(values - levels[-1], 0)
    placed: FloatArray = np.interp(values, levels, np.arange(len(levels))) / steps + beyond / width
    return placed


def says_more(x: FloatArray) -> bool:
    """Tell whether ranks differ from the coordinates at all."""
    return not np.allclose(ranked(x, levels_of(x)), x, atol=1e-9)
