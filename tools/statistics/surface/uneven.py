"""A Gaussian process whose noise depends on the predicted value.

The spread of a cell is known less surely, or more, where it is small: MOANA (section 6) finds that one model is better
where the SD is small and another where it is large. Here errors of leaving one out say how noisy cells of each size are
(the most likely heteroscedastic process of Kersting et al., ICML 2007, with one step).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ..values import FloatArray
from .gaussian import FLOOR, MOST_POINTS, Gaussian, GaussianRecipe, conditioned, for_tuning, likeliest, sample

WIDTH = 0.3
"""Of the window in which errors are averaged, in SDs of the predicted values."""
GRID = 50


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
