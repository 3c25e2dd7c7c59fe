"""Standard errors of log ratios of means, SDs and CVs by the delta method, for the bootstrap-t."""

from __future__ import annotations

import numpy as np

from ..values import FloatArray
from .weighted import Counts, Key, Statistic, standardised

SMOOTH: tuple[Statistic, ...] = ("mean", "sd", "cv")


class DeltaMethod:
    """The log ratios are smooth functions of four means: of x and x squared in either arm."""

    def __init__(self, baseline: FloatArray, other: FloatArray, paired: bool) -> None:
        """Standardise both arms; pairs must be of equal length."""
        self.paired = paired
        self.units, features = [], []
        for values in (baseline, other):
            z, centre, scale = standardised(values)
            self.units.append((centre, scale))
            features.append(np.column_stack((z, z**2)))
        features = [np.hstack(features)] if paired else features
        self.pairs = np.triu_indices(features[0].shape[1])
        self.features = [np.hstack((f, f[:, self.pairs[0]] * f[:, self.pairs[1]])) for f in features]

    def errors(self, counts: tuple[Counts, Counts]) -> dict[Key, FloatArray]:
        """Standard error of each log ratio for each row of counts of both arms, which are in run order."""
        means, covariance = self._moments(counts)
        before, after = (self._gradients(means[:, 2 * arm : 2 * arm + 2], self.units[arm]) for arm in (0, 1))
        errors: dict[Key, FloatArray] = {}
        for name in SMOOTH:
            slope = np.hstack((-before[name], after[name]))
            with np.errstate(invalid="ignore"):
                errors[name] = np.sqrt(np.maximum(np.einsum("ri,rij,rj->r", slope, covariance, slope), 0))
        return errors

    def _moments(self, counts: tuple[Counts, Counts]) -> tuple[FloatArray, FloatArray]:
        """Means of the features, shape (rows, 4), and the covariance of these means; zero between unpaired arms."""
        rows = counts[0].shape[0]
        means, covariance = np.empty((rows, 4)), np.zeros((rows, 4, 4))
        first, second = self.pairs
        at, k = 0, int(first[-1]) + 1
        for features, taken in zip(self.features, counts, strict=False):
            sums = taken.astype(np.float64) @ features / features.shape[0]
            mean, upper = sums[:, :k], sums[:, k:] - sums[:, first] * sums[:, second]
            covariance[:, at + first, at + second] = covariance[:, at + second, at + first] = upper / features.shape[0]
            means[:, at : at + k] = mean
            at += k
        return means, covariance

    def _gradients(self, means: FloatArray, unit: tuple[float, float]) -> dict[Statistic, FloatArray]:
        """Slopes of log mean, log SD and log CV in the two means of one arm."""
        centre, scale = unit
        m, variance = means[:, 0], means[:, 1] - means[:, 0] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.column_stack((scale / (centre + scale * m), np.zeros_like(m)))
            sd = np.column_stack((-m / variance, 0.5 / variance))
        return {"mean": mean, "sd": sd, "cv": sd - mean}
