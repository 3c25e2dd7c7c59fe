"""A Gaussian process: one length scale for each setting, and noise; of many points a sample of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, WhiteKernel

from ..values import FloatArray

MOST_POINTS = 1500
"""The cost grows with the cube: of more points a random sample is taken."""
TUNED_ON = 600
"""Points on which length scales and noise are chosen."""


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
        few = _sample(len(y), TUNED_ON, self.seed)
        centred = y[few] - y[few].mean()
        variance = max(float(centred.var()), 1e-12)
        start = ConstantKernel(variance, (variance * 1e-3, variance * 1e3)) * Matern(
            np.full(x.shape[1], 0.5), (1e-2, 1e2), nu=2.5
        ) + WhiteKernel(variance * 1e-2, (variance * 1e-8, variance * 2))
        process = GaussianProcessRegressor(start, n_restarts_optimizer=0, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a setting without effect drives its scale to the end
            process.fit(x[few], centred)
        return GaussianRecipe(self.seed, process.kernel_)

    def fit(self, x: FloatArray, y: FloatArray) -> Gaussian:
        """Condition the process on the points."""
        kernel = self.kernel if self.kernel is not None else self.tuned(x, y).kernel
        few = _sample(len(y), MOST_POINTS, self.seed)
        centre = float(y[few].mean())
        process = GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-9 * max(float(y.var()), 1e-12))
        return Gaussian(process.fit(x[few], y[few] - centre), centre)


def _sample(points: int, most: int, seed: int) -> np.ndarray:
    if points <= most:
        return np.arange(points)
    return np.sort(np.random.default_rng(seed).choice(points, most, replace=False))
