"""Radial basis functions with smoothing, from the nearest points where there are many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import RBFInterpolator

from ..values import FloatArray

MOST_POINTS = 1000
"""More points, and each prediction rests on its neighbours alone."""
NEIGHBOURS = 60
SMOOTHINGS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
SHARPNESS = (0.25, 0.5, 1.0, 2.0)
FOLDS = 5


@dataclass(frozen=True)
class Radial:
    """A fitted interpolant; `stretch` has shape (dimensions,)."""

    interpolant: RBFInterpolator
    stretch: FloatArray

    def predict(self, x: FloatArray) -> FloatArray:
        """Evaluate."""
        values: FloatArray = np.asarray(self.interpolant(x * self.stretch), dtype=np.float64)
        return values


@dataclass(frozen=True)
class RadialRecipe:
    """How smooth, and how much each setting is stretched; None: chosen at each fit."""

    seed: int = 1
    smoothing: float | None = None
    stretch: tuple[float, ...] | None = None

    def tuned(self, x: FloatArray, y: FloatArray) -> RadialRecipe:
        """Choose both by cross-validation, setting by setting, twice around."""
        few = np.random.default_rng(self.seed).permutation(len(y))[:MOST_POINTS]
        x, y = x[few], y[few]
        stretch = np.ones(x.shape[1])
        smoothing, error = 0.1, np.inf
        for _ in range(2):
            for value in SMOOTHINGS:
                found = _error(x * stretch, y, value)
                if found < error:
                    smoothing, error = value, found
            for place in range(x.shape[1]):
                stretch, error = _stretched(x, y, stretch, place, smoothing, error)
        return RadialRecipe(self.seed, smoothing, tuple(map(float, stretch)))

    def fit(self, x: FloatArray, y: FloatArray) -> Radial:
        """Fit."""
        if self.smoothing is None or self.stretch is None:
            return self.tuned(x, y).fit(x, y)
        stretch = np.array(self.stretch)
        return Radial(_interpolant(x * stretch, y, self.smoothing), stretch)


def _stretched(
    x: FloatArray, y: FloatArray, stretch: FloatArray, place: int, smoothing: float, error: float
) -> tuple[FloatArray, float]:
    best = stretch
    for factor in SHARPNESS:
        tried = stretch.copy()
        tried[place] *= factor
        found = _error(x * tried, y, smoothing)
        if found < error:
            best, error = tried, found
    return best, error


def _error(x: FloatArray, y: FloatArray, smoothing: float) -> float:
    """Squared error over a few folds; the points come in random order."""
    fold = np.arange(len(y)) % FOLDS
    try:
        missed = [
            _interpolant(x[fold != one], y[fold != one], smoothing)(x[fold == one]) - y[fold == one]
            for one in range(FOLDS)
        ]
    except np.linalg.LinAlgError:
        return np.inf
    return float((np.concatenate(missed) ** 2).mean())


def _interpolant(x: FloatArray, y: FloatArray, smoothing: float) -> RBFInterpolator:
    near = NEIGHBOURS if len(y) > MOST_POINTS else None
    return RBFInterpolator(x, y, neighbors=near, smoothing=smoothing, kernel="linear", degree=0)
