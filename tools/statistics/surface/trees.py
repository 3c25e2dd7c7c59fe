"""Ensembles of regression trees: gradient boosting and a random forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from ..values import FloatArray

MOST_SEEN = 1000
"""Points that one tree of the boosting sees: half of the points, and of many no more than these."""


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
    """Boost small trees, each on a part of the points (Friedman, Computational Statistics & Data Analysis 38, 2002)."""
    share = min(0.5, MOST_SEEN / len(y))
    small = {"n_estimators": 400, "learning_rate": 0.05, "max_depth": 4, "subsample": share}
    return Trees(GradientBoostingRegressor(**small, random_state=seed).fit(x, y))


def fit_forest(x: FloatArray, y: FloatArray, seed: int = 1) -> Trees:
    """Average deep trees on bootstrap samples (Breiman, Machine Learning 45, 2001)."""
    return Trees(RandomForestRegressor(n_estimators=150, random_state=seed).fit(x, y))
