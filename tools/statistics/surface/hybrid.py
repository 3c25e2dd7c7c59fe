"""The stacked hybrid: several models, weighted by how well they predict points that they did not see.

Wolpert, Neural Networks 5.2 (1992); weights that are not negative and add up to 1: Breiman, Machine Learning 24 (1996).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import nnls

from ..values import FloatArray
from .gaussian import RankedRecipe, says_more
from .model import SurfaceEstimator, SurfaceModel

FOLDS = 5
MOST_STACKED = 1000
"""Points on which weights are chosen: of more, a random sample."""
SUM_TO_ONE = 1e3
LEAST_WEIGHT = 0.01


@dataclass(frozen=True)
class Hybrid:
    """Fitted members and their weights."""

    members: Mapping[str, SurfaceModel]
    weights: Mapping[str, float]

    def predict(self, x: FloatArray) -> FloatArray:
        """Average the members by their weights."""
        total = np.zeros(len(x))
        for name, weight in self.weights.items():
            total += weight * self.members[name].predict(x)
        return total


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
