"""Every model of a surface, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import nnls
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from ..values import FloatArray
from .gaussian import GaussianRecipe, RankedRecipe, UnevenRecipe, says_more
from .interpolation import RadialRecipe, fit_shepard
from .mars import fit_mars
from .model import SurfaceEstimator, SurfaceModel, Untuned

MOST_SEEN = 1000
"""Points that one tree of the boosting sees: half of the points, and of many no more than these."""
FOLDS = 5
MOST_STACKED = 1000
"""Points on which weights are chosen: of more, a random sample."""
SUM_TO_ONE = 1e3
LEAST_WEIGHT = 0.01
HYBRID = "hybrid"


def fit_boosting(x: FloatArray, y: FloatArray, seed: int = 1) -> SurfaceModel:
    """Boost small trees, each on a part of the points (Friedman, Computational Statistics & Data Analysis 38, 2002)."""
    small = {"n_estimators": 400, "learning_rate": 0.05, "max_depth": 4, "subsample": min(0.5, MOST_SEEN / len(y))}
    boosted: SurfaceModel = GradientBoostingRegressor(**small, random_state=seed).fit(x, y)
    return boosted


def fit_forest(x: FloatArray, y: FloatArray, seed: int = 1) -> SurfaceModel:
    """Average deep trees on bootstrap samples (Breiman, Machine Learning 45, 2001)."""
    forest: SurfaceModel = RandomForestRegressor(n_estimators=150, random_state=seed).fit(x, y)
    return forest


@dataclass(frozen=True)
class Hybrid:
    """Fitted members and their weights."""

    members: Mapping[str, SurfaceModel]
    weights: Mapping[str, float]

    def predict(self, x: FloatArray) -> FloatArray:
        """Average the members by their weights."""
        told = [self.members[name].predict(x) for name in self.weights]
        return np.array(list(self.weights.values())) @ np.array(told)


@dataclass(frozen=True)
class HybridRecipe:
    """What is stacked; without weights they are chosen at each fit."""

    members: Mapping[str, SurfaceEstimator]
    seed: int = 1
    weights: Mapping[str, float] = field(default_factory=dict)

    def tuned(self, x: FloatArray, y: FloatArray) -> HybridRecipe:
        """Tune the members, predict each point from the other folds, and choose weights on these predictions."""
        few = np.random.default_rng(self.seed).permutation(len(y))[:MOST_STACKED]
        x, y = x[few], y[few]
        different = says_more(x)
        members = {
            name: recipe.tuned(x, y)
            for name, recipe in self.members.items()
            if different or not isinstance(recipe, RankedRecipe)
        }
        fold = np.arange(len(y)) % min(FOLDS, len(y))
        unseen = np.empty((len(y), len(members)))
        for one in np.unique(fold):
            left, out = fold != one, fold == one
            for place, recipe in enumerate(members.values()):
                unseen[out, place] = recipe.fit(x[left], y[left]).predict(x[out])
        return replace(self, members=members, weights=dict(zip(members, stacked(unseen, y), strict=True)))

    def fit(self, x: FloatArray, y: FloatArray) -> Hybrid:
        """Fit the members that have a weight."""
        if not self.weights:
            return self.tuned(x, y).fit(x, y)
        heard = {name: weight for name, weight in self.weights.items() if weight > 0}
        return Hybrid({name: self.members[name].fit(x, y) for name in heard}, heard)


def stacked(unseen: FloatArray, y: FloatArray) -> list[float]:
    """Give the weights that predict best, none negative, with the sum 1; `unseen` has shape (points, members)."""
    centre, size = y.mean(), max(float(y.std()), 1e-300)
    one = SUM_TO_ONE * np.sqrt(len(y))
    rows = np.vstack(((unseen - centre) / size, np.full(unseen.shape[1], one)))
    weights, _ = nnls(rows, np.append((y - centre) / size, one))
    weights[weights < LEAST_WEIGHT * weights.sum()] = 0.0
    return [float(weight) for weight in weights / weights.sum()]


SINGLE: Mapping[str, SurfaceEstimator] = {
    "shepard": Untuned(fit_shepard),
    "mars": Untuned(fit_mars),
    "gaussian": GaussianRecipe(),
    "radial": RadialRecipe(),
    "boosting": Untuned(fit_boosting),
    "forest": Untuned(fit_forest),
}
STACKED: Mapping[str, SurfaceEstimator] = {
    "shepard": SINGLE["shepard"],
    "mars": SINGLE["mars"],
    "boosting": SINGLE["boosting"],
    "gaussian, noise by size": UnevenRecipe(),
    "gaussian, noise by size, levels evenly spaced": RankedRecipe(UnevenRecipe()),
}
"""Members of the hybrid: local, piecewise linear, stepwise, smooth, smooth over ranks; each misses other things."""
MODELS: Mapping[str, SurfaceEstimator] = {**SINGLE, HYBRID: HybridRecipe(STACKED)}
