"""What a model of a surface is: it is fitted to points, and predicts at others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..values import FiniteResult, FloatArray, IntArray

MOST_GROUPS = 10
MANY = 2000
"""Of more points only one group is predicted: a random tenth."""


class SurfaceModel(Protocol):
    """A fitted surface."""

    def predict(self, x: FloatArray) -> FloatArray:
        """Predict at points of shape (points, dimensions); the answer has shape (points,)."""
        ...


class SurfaceEstimator(Protocol):
    """A way to fit a surface."""

    def tuned(self, x: FloatArray, y: FloatArray) -> SurfaceEstimator:
        """Choose what is costly to choose once for these points, for fits to nearly the same points."""
        ...

    def fit(self, x: FloatArray, y: FloatArray) -> SurfaceModel:
        """Fit to distinct points of shape (points, dimensions), scaled to about 0 to 1, with a value each."""
        ...


@dataclass(frozen=True)
class Untuned:
    """A recipe with nothing to choose beforehand."""

    how: Callable[[FloatArray, FloatArray], SurfaceModel]

    def tuned(self, x: FloatArray, y: FloatArray) -> Untuned:
        """Return itself."""
        return self

    def fit(self, x: FloatArray, y: FloatArray) -> SurfaceModel:
        """Fit."""
        return self.how(x, y)


class Errors(FiniteResult):
    """Errors in the unit of the response, over the points that were predicted."""

    points: int
    relative: float
    """sqrt(mse) / mean: what MOANA's table 10 means by a relative error."""
    as_printed: float
    """mse / mean: equation 4 as it is printed; it has the unit of the response."""
    mse: float
    median_ratio: float
    """Median over the points of the larger of predicted / measured and its inverse."""


def errors(measured: FloatArray, predicted: FloatArray) -> Errors:
    """Compare; both have shape (points,), and what was not predicted is NaN and does not count."""
    seen = np.isfinite(predicted)
    y, p = measured[seen], predicted[seen]
    mse, mean = float(((y - p) ** 2).mean()), abs(float(y.mean()))
    usable = (y > 0) & (p > 0)
    ratios = np.exp(np.abs(np.log(p[usable] / y[usable]))) if usable.any() else np.ones(1)
    return Errors(
        points=len(y),
        relative=float(np.sqrt(mse)) / mean if mean else 0.0,
        as_printed=mse / mean if mean else 0.0,
        mse=mse,
        median_ratio=float(np.median(ratios)),
    )


def groups(points: int, seed: int, most: int = MOST_GROUPS) -> IntArray:
    """Deal the points at random into groups of about equal size, shape (points,)."""
    group = np.empty(points, dtype=np.int64)
    group[np.random.default_rng(seed).permutation(points)] = np.arange(points) % min(most, points)
    return group


def unseen(
    recipe: SurfaceEstimator, x: FloatArray, y: FloatArray, group: IntArray, one_by_one: bool = False
) -> FloatArray:
    """Predict each group by a fit without it, shape (points,); of many points only the first group, else NaN.

    One by one: each point is predicted by a fit without it alone. What is tuned (length scales, smoothing, weights of a
    hybrid) is tuned once a group, on the points outside it, so that no point has a say in its own prediction.
    """
    predicted = np.full(len(y), np.nan)
    for one in np.unique(group)[: 1 if len(y) > MANY else None]:
        out = group == one
        ready = recipe.tuned(x[~out], y[~out])
        if not one_by_one:
            predicted[out] = ready.fit(x[~out], y[~out]).predict(x[out])
            continue
        for place in np.flatnonzero(out):
            others = np.arange(len(y)) != place
            predicted[place] = ready.fit(x[others], y[others]).predict(x[place : place + 1])[0]
    return predicted


def evenly(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Place values between the ranks of ascending levels, 0 to 1; beyond the ends by the mean distance of levels."""
    steps, width = max(len(levels) - 1, 1), float(levels[-1] - levels[0]) or 1.0
    beyond = np.minimum(values - levels[0], 0) + np.maximum(values - levels[-1], 0)
    placed: FloatArray = np.interp(values, levels, np.arange(len(levels))) / steps + beyond / width
    return placed
