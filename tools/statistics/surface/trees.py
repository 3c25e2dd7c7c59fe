"""Ensembles of regression trees: gradient boosting and a random forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor

from ..values import FloatArray

MOST_EXACT = 2000
"""Of more points, boosting splits at binned values."""


class _Regressor(Protocol):
    def predict(self, x: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Trees:
    """A fitted ensemble."""

    ensemble: _Regressor

    def predict(self, x: FloatArray) -> FloatArray:
        """Add up or average the trees."""
        return np.asarray(self.ensemble.predict(x), dtype=np.float64)


def fit_boosting(x: FloatArray, y: FloatArray, seed: int = 1) -> Trees:
    """Boost small trees, each on half of the points (Friedman, Computational Statistics & Data Analysis 38, 2002)."""
    if len(y) > MOST_EXACT:
        return Trees(HistGradientBoostingRegressor(max_iter=500, learning_rate=0.05, random_state=seed).fit(x, y))
    small = {"n_estimators": 400, "learning_rate": 0.05, "max_depth": 4, "subsample": 0.5}
    return Trees(GradientBoostingRegressor(**small, random_state=seed).fit(x, y))


def fit_forest(x: FloatArray, y: FloatArray, seed: int = 1) -> Trees:
    """Average deep trees on bootstrap samples (Breiman, Machine Learning 45, 2001)."""
    return Trees(RandomForestRegressor(n_estimators=150, random_state=seed).fit(x, y))
