"""A Gaussian process: one length scale for each setting, and noise; of many points a sample of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, WhiteKernel

from ..values import FloatArray, IntArray

MOST_POINTS = 1500
"""The cost grows with the cube: of more points a random sample is taken."""
TUNED_ON, OF_MANY = 600, 300
"""Points on which length scales and noise are chosen: all up to the first number, of more a sample of the second."""
ROUGHNESS = 2.5
"""Of the Matern kernel: twice differentiable."""
FLOOR = 1e-9
"""Noise that keeps the matrix solvable, as a share of the variance."""


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
