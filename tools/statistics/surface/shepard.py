"""Modified linear Shepard interpolation: local planes, blended by distance.

MOANA, section 5.1; the fallback outside all radii, and 3m/2 rounded up for odd m, are those of SHEPPACK (Thacker et
al., ACM TOMS 37.3, 2010, Algorithm 905).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ..values import FloatArray, IntArray

CHUNK = 2048
"""Points in one piece of work, so that memory stays small."""
SPARE = 8
"""Neighbours looked up beyond those that are needed, so that equal distances are ordered by place."""


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
