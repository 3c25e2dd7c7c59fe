"""Ensembles of regression trees: gradient boosting and a random forest."""

from __future__ import annotations

from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from ..values import FloatArray
from .model import SurfaceModel

MOST_SEEN = 1000
"""Points that one tree of the boosting sees: half of the points, and of many no more than these."""


def fit_boosting(x: FloatArray, y: FloatArray, seed: int = 1) -> SurfaceModel:
    """Boost small trees, each on a part of the points (Friedman, Computational Statistics & Data Analysis 38, 2002)."""
    share = min(0.5, MOST_SEEN / len(y))
    small = {"n_estimators": 400, "learning_rate": 0.05, "max_depth": 4, "subsample": share}
    boosted: SurfaceModel = GradientBoostingRegressor(**small, random_state=seed).fit(x, y)
    return boosted


def fit_forest(x: FloatArray, y: FloatArray, seed: int = 1) -> SurfaceModel:
    """Average deep trees on bootstrap samples (Breiman, Machine Learning 45, 2001)."""
    forest: SurfaceModel = RandomForestRegressor(n_estimators=150, random_state=seed).fit(x, y)
    return forest
