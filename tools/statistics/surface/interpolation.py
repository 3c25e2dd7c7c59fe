"""Interpolation with smoothing: radial basis functions, and local planes blended by distance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import RBFInterpolator
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ..values import FloatArray, IntArray

MOST_POINTS = 1000
"""More points, and each prediction rests on its neighbours alone."""
NEIGHBOURS = 60
SMOOTHINGS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
SHARPNESS = (0.25, 0.5, 1.0, 2.0)
FOLDS = 5
CHUNK = 2048
"""Points in one piece of work, so that memory stays small."""
SPARE = 8
"""Neighbours looked up beyond those that are needed, so that equal distances are ordered by place."""


@dataclass(frozen=True)
class Radial:
    """A fitted interpolant; `stretch` has shape (dimensions,)."""

    interpolant: RBFInterpolator
    stretch: FloatArray

    def predict(self, x: FloatArray) -> FloatArray:
        """Evaluate."""
        values: FloatArray = np.asarray(self.interpolant(x * self.stretch), dtype=np.float64)
        return values


@dataclass(frozen=True)
class RadialRecipe:
    """How smooth, and how much each setting is stretched; None: chosen at each fit."""

    seed: int = 1
    smoothing: float | None = None
    stretch: tuple[float, ...] | None = None

    def tuned(self, x: FloatArray, y: FloatArray) -> RadialRecipe:
        """Choose both by cross-validation, setting by setting, twice around."""
        few = np.random.default_rng(self.seed).permutation(len(y))[:MOST_POINTS]
        x, y = x[few], y[few]
        stretch = np.ones(x.shape[1])
        smoothing, error = 0.1, np.inf
        for _ in range(2):
            for value in SMOOTHINGS:
                found = _error(x * stretch, y, value)
                if found < error:
                    smoothing, error = value, found
            for place in range(x.shape[1]):
                stretch, error = _stretched(x, y, stretch, place, smoothing, error)
        return RadialRecipe(self.seed, smoothing, tuple(map(float, stretch)))

    def fit(self, x: FloatArray, y: FloatArray) -> Radial:
        """Fit."""
        if self.smoothing is None or self.stretch is None:
            return self.tuned(x, y).fit(x, y)
        stretch = np.array(self.stretch)
        return Radial(_interpolant(x * stretch, y, self.smoothing), stretch)


def _stretched(
    x: FloatArray, y: FloatArray, stretch: FloatArray, place: int, smoothing: float, error: float
) -> tuple[FloatArray, float]:
    best = stretch
    for factor in SHARPNESS:
        tried = stretch.copy()
        tried[place] *= factor
        found = _error(x * tried, y, smoothing)
        if found < error:
            best, error = tried, found
    return best, error


def _error(x: FloatArray, y: FloatArray, smoothing: float) -> float:
    """Squared error over a few folds; the points come in random order."""
    fold = np.arange(len(y)) % FOLDS
    try:
        missed = [
            _interpolant(x[fold != one], y[fold != one], smoothing)(x[fold == one]) - y[fold == one]
            for one in range(FOLDS)
        ]
    except np.linalg.LinAlgError:
        return np.inf
    return float((np.concatenate(missed) ** 2).mean())


def _interpolant(x: FloatArray, y: FloatArray, smoothing: float) -> RBFInterpolator:
    near = NEIGHBOURS if len(y) > MOST_POINTS else None
    return RBFInterpolator(x, y, neighbors=near, smoothing=smoothing, kernel="linear", degree=0)


@dataclass(frozen=True)
class Shepard:
    """Nodes, the slopes of the plane through each, and how far each plane is heard."""

    nodes: FloatArray
    """Shape (nodes, dimensions)."""
    values: FloatArray
    """Shape (nodes,)."""
    slopes: FloatArray
    """Shape (nodes, dimensions): a^(k) of P_k."""
    radii: FloatArray
    """Shape (nodes,): R_w^(k)."""
    tree: cKDTree = field(repr=False)

    def predict(self, x: FloatArray) -> FloatArray:
        """Blend the planes that are heard at each point."""
        chunks = [self._predict(x[start : start + CHUNK]) for start in range(0, len(x), CHUNK)]
        return np.concatenate(chunks) if chunks else np.zeros(0)

    def _predict(self, x: FloatArray) -> FloatArray:
        near = cKDTree(x).sparse_distance_matrix(self.tree, self.radii.max(), output_type="ndarray")
        heard = near[near["v"] < self.radii[near["j"]]]
        point, node, distance = heard["i"], heard["j"], heard["v"]
        # At a node its weight is infinite: the value is that of the node, set below.
        radius, apart = self.radii[node], np.maximum(distance, np.finfo(np.float64).tiny)
        weight = ((radius - distance) / (radius * np.maximum(apart, 1e-150))) ** 2
        plane = self.values[node] + np.einsum("ij,ij->i", self.slopes[node], x[point] - self.nodes[node])
        total = np.bincount(point, weight, len(x))
        with np.errstate(invalid="ignore", divide="ignore"):
            blended: FloatArray = np.bincount(point, weight * plane, len(x)) / total
        unheard = np.flatnonzero(total == 0)
        if unheard.size:
            blended[unheard] = self._original(x[unheard])
        at_node = distance == 0
        blended[point[at_node]] = self.values[node[at_node]]
        return blended

    def _original(self, x: FloatArray) -> FloatArray:
        """Shepard's own method with the m + 1 nearest nodes, for points outside all radii."""
        count = min(len(self.nodes), self.nodes.shape[1] + 1)
        distance, node = self.tree.query(x, k=np.arange(1, count + 1))
        weight = 1 / np.maximum(distance, 1e-150) ** 2
        blended: FloatArray = (weight * self.values[node]).sum(axis=1) / weight.sum(axis=1)
        return blended


def fit_shepard(x: FloatArray, y: FloatArray) -> Shepard:
    """Fit a plane at each node to its nearest ones, by weighted least squares of minimum norm."""
    n, m = x.shape
    tree = cKDTree(x)
    neighbours = min(n, -(-3 * m // 2)) - 1
    distance, index = _nearest(tree, x, neighbours)
    radius = distance[:, -1]
    reach = 1.1 * radius[:, None]
    weight = (reach - distance) / (reach * distance)
    rows = weight[:, :, None] * (x[index] - x[:, None, :])
    rises = weight * (y[index] - y[:, None])
    slopes = np.einsum("kmj,kj->km", np.linalg.pinv(rows), rises)
    return Shepard(x, y, slopes, _heard(x, radius), tree)


def _nearest(tree: cKDTree, x: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
    """Give the nearest other nodes, of equally near ones the first; shapes (nodes, count)."""
    looked = min(len(x), 1 + count + SPARE)
    distance, index = tree.query(x, k=np.arange(1, looked + 1))
    distance = np.where(index == np.arange(len(x))[:, None], -1.0, distance)
    order = np.lexsort((index, distance), axis=1)[:, 1 : count + 1]
    return np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1)


def _heard(x: FloatArray, radius: FloatArray) -> FloatArray:
    """Return min(D/2, R): the diameter D is computed only where a radius comes near half of it."""
    corner = x[np.argmax(((x - x.mean(axis=0)) ** 2).sum(axis=1))]
    at_least = np.sqrt(((x - corner) ** 2).sum(axis=1)).max()
    if radius.max() <= at_least / 2:
        return radius
    pieces = (cdist(x[start : start + CHUNK], x).max() for start in range(0, len(x), CHUNK))
    heard: FloatArray = np.minimum(max(pieces) / 2, radius)
    return heard
