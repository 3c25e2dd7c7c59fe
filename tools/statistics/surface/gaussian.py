"""A Gaussian process: one length scale for each setting, and noise; of many points a sample of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, WhiteKernel

from ..values import FloatArray, IntArray
from .model import SurfaceEstimator, SurfaceModel, evenly

MOST_POINTS = 1500
"""The cost grows with the cube: of more points a random sample is taken."""
TUNED_ON, OF_MANY = 600, 300
"""Points on which length scales and noise are chosen: all up to the first number, of more a sample of the second."""
ROUGHNESS = 2.5
"""Of the Matern kernel: twice differentiable."""
FLOOR = 1e-9
"""Noise that keeps the matrix solvable, as a share of the variance."""
WIDTH = 0.3
"""Of the window in which errors are averaged, in SDs of the predicted values."""
GRID = 50
MOST_LEVELS = 64
"""A dimension with more distinct values is left as it is: they are points drawn at random, and no levels."""


@dataclass(frozen=True)
class Gaussian:
    """A fitted process."""

    process: GaussianProcessRegressor
    centre: float

    def predict(self, x: FloatArray) -> FloatArray:
        """Give the mean of the process."""
        chunks = [self.process.predict(x[start : start + 4096]) for start in range(0, len(x), 4096)]
        mean: FloatArray = np.concatenate(chunks) if chunks else np.zeros(0)
        return mean + self.centre

    def sd(self, x: FloatArray) -> FloatArray:
        """Give the SD of the surface at points (points, dimensions): of what is not known of it, without the noise."""
        smooth = copy(self.process)
        smooth.kernel_ = self.process.kernel_.k1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a variance that rounds below 0 is 0
            found: FloatArray = smooth.predict(x, return_std=True)[1]
        return found


@dataclass(frozen=True)
class GaussianRecipe:
    """`kernel` None: chosen by marginal likelihood at each fit."""

    seed: int = 1
    kernel: Kernel | None = None

    def tuned(self, x: FloatArray, y: FloatArray) -> GaussianRecipe:
        """Choose length scales, height and noise by marginal likelihood."""
        few = for_tuning(len(y), self.seed)
        variance = max(float(y[few].var()), 1e-12)
        start = smooth(variance, x.shape[1]) + WhiteKernel(variance * 1e-2, (variance * 1e-8, variance * 2))
        return GaussianRecipe(self.seed, likeliest(start, x[few], y[few] - y[few].mean(), FLOOR * variance))

    def fit(self, x: FloatArray, y: FloatArray) -> Gaussian:
        """Condition the process on the points."""
        kernel = self.kernel if self.kernel is not None else self.tuned(x, y).kernel
        few = sample(len(y), MOST_POINTS, self.seed)
        return conditioned(kernel, x[few], y[few], FLOOR * max(float(y.var()), 1e-12))


def smooth(variance: float, dimensions: int) -> Kernel:
    """Give the kernel to begin with, without noise."""
    height = ConstantKernel(variance, (variance * 1e-3, variance * 1e3))
    return height * Matern(np.full(dimensions, 0.5), (1e-2, 1e2), nu=ROUGHNESS)


def likeliest(start: Kernel, x: FloatArray, centred: FloatArray, noise: float | FloatArray) -> Kernel:
    """Choose what a kernel leaves open by marginal likelihood."""
    process = GaussianProcessRegressor(start, alpha=noise, n_restarts_optimizer=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a setting without effect drives its scale to the end
        return process.fit(x, centred).kernel_


def conditioned(kernel: Kernel | None, x: FloatArray, y: FloatArray, noise: float | FloatArray) -> Gaussian:
    """Condition a process on points, whose noise the kernel does not hold is `noise`."""
    centre = float(y.mean())
    process = GaussianProcessRegressor(kernel, optimizer=None, alpha=noise)
    return Gaussian(process.fit(x, y - centre), centre)


def sample(points: int, most: int, seed: int) -> IntArray:
    """Choose at most so many points at random, in their order."""
    if points <= most:
        return np.arange(points)
    return np.sort(np.random.default_rng(seed).choice(points, most, replace=False))


def for_tuning(points: int, seed: int) -> IntArray:
    """Choose the points on which a process is tuned, which costs some fifty times what conditioning on them does."""
    return sample(points, points if points <= TUNED_ON else OF_MANY, seed)


@dataclass(frozen=True)
class UnevenRecipe:
    """What is chosen beforehand: the even process, the kernel without noise, and the noise at each size."""

    seed: int = 1
    even: Kernel | None = None
    kernel: Kernel | None = None
    sizes: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()

    def tuned(self, x: FloatArray, y: FloatArray) -> UnevenRecipe:
        """Choose the even process, learn the noise from what it misses, and choose the kernel again beside that."""
        few = for_tuning(len(y), self.seed)
        x, y = x[few], y[few]
        even = GaussianRecipe(self.seed).tuned(x, y).kernel
        assert even is not None
        told = _left_out(even, x, y)
        sizes, noise = _noise(told, y - told, even.k2.noise_level)
        own = np.interp(told, sizes, noise)
        kernel = likeliest(even.k1, x, y - y.mean(), own)
        return UnevenRecipe(self.seed, even, kernel, tuple(map(float, sizes)), tuple(map(float, noise)))

    def fit(self, x: FloatArray, y: FloatArray) -> Gaussian:
        """Predict the size of each point from the others, and condition on all with the noise of that size."""
        if self.even is None:
            return self.tuned(x, y).fit(x, y)
        few = sample(len(y), MOST_POINTS, self.seed)
        x, y = x[few], y[few]
        told = _left_out(self.even, x, y)
        floor = FLOOR * max(float(y.var()), 1e-12)
        return conditioned(self.kernel, x, y, np.maximum(np.interp(told, self.sizes, self.noise), floor))


def _left_out(kernel: Kernel, x: FloatArray, y: FloatArray) -> FloatArray:
    """Predict each point from all others (Rasmussen and Williams, 2006, equation 5.12)."""
    centre = y.mean()
    covariance = kernel(x)
    covariance[np.diag_indices(len(y))] += FLOOR * max(float(y.var()), 1e-12)
    inverse = np.linalg.inv(covariance)
    told: FloatArray = y - (inverse @ (y - centre)) / np.diag(inverse)
    return told


def _noise(told: FloatArray, missed: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Average squared errors over sizes, and scale them so that noise is on average what the even process found."""
    spread = max(float(told.std()), 1e-12)
    sizes = np.linspace(told.min(), told.max(), GRID)
    window = np.exp(-0.5 * ((sizes[:, None] - told) / (WIDTH * spread)) ** 2)
    squared = window @ missed**2 / window.sum(axis=1)
    mean = float((missed**2).mean())
    noise: FloatArray = squared * (level / mean if mean > 0 else 1.0)
    return sizes, np.maximum(noise, 1e-3 * level)


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


def says_more(x: FloatArray) -> bool:
    """Tell whether ranks differ from the coordinates at all."""
    return not np.allclose(ranked(x, levels_of(x)), x, atol=1e-9)
