"""One statistic for a setting of many values: all its indicators together, as Kruskal and Wallis (1952) sum them.

With ranks of length one and no trend, z' G^-1 z over the indicators is their sum of (1 - n_i / n) z_i^2. It is about
chi-squared, so that its chance says which |z| of a single column is as rare; that keeps one bar for all in a search.
The strongest indicator alone has little power where every value has few runs: it sees one host of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammaln, ndtri_exp

from ..values import FloatArray, IntArray
from .chance import Floats

NOTHING_NEW = 1e-3
"""Share of the length of an indicator below which a direction is what the others, or the trend, already say."""
TINY = 1e-280
"""Chances below it are computed as logarithms."""
TERMS = 40
"""Of a continued fraction, which is used far out only, where it needs few."""


@dataclass(frozen=True)
class Grouped:
    """Groups of columns of a matrix of z, each with what makes its z independent of each other."""

    members: tuple[IntArray, ...]
    """Places of the indicators of each group."""
    whitening: tuple[FloatArray, ...]
    """Shape (indicators, freedom) each."""
    own_scale: FloatArray | None = None
    """Shape (groups,): mean sum under chance over its freedom, where labels come in spells and it is above one."""

    @property
    def everyone(self) -> IntArray:
        """Places of all indicators."""
        return np.concatenate([*self.members, np.empty(0, dtype=np.int64)]).astype(np.int64)

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom, shape (groups,)."""
        return np.array([each.shape[1] for each in self.whitening], dtype=np.float64)

    def sums(self, z: Floats) -> FloatArray:
        """Sum of squares of each group, shape (..., columns) to (..., groups); the signs of z matter."""
        found = [
            ((z[..., places].astype(np.float64) @ white) ** 2).sum(axis=-1)
            for places, white in zip(self.members, self.whitening, strict=True)
        ]
        return np.stack(found, axis=-1) if found else np.empty((*z.shape[:-1], 0))

    def equivalent(self, sums: FloatArray) -> FloatArray:
        """|z| that is as rare as each sum, shape (..., groups)."""
        return equivalent(sums if self.own_scale is None else sums / self.own_scale, self.freedom)


def grouped(vectors: Floats, groups: Sequence[Sequence[int]]) -> Grouped:
    """Prepare groups of places among `vectors`, shape (runs, m), which have length one or are zero."""
    members = tuple(np.asarray(list(group), dtype=np.int64) for group in groups)
    return Grouped(members, tuple(_whitening(vectors[:, places]) for places in members))


def equivalent(sums: FloatArray, freedom: FloatArray) -> FloatArray:
    """Turn chi-squared sums into |z| of the same two-sided chance; 0 where there is no freedom."""
    half = np.broadcast_to(np.maximum(freedom, 1) / 2, sums.shape)
    z = np.maximum(-ndtri_exp(_log_chance(half, sums / 2) - np.log(2)), 0.0)
    return np.where(freedom > 0, z, 0.0)


def _log_chance(a: FloatArray, x: FloatArray) -> FloatArray:
    """Logarithm of the upper tail of a gamma distribution, however far out."""
    chance = gammaincc(a, x)
    near = np.log(np.maximum(chance, TINY))
    far = (chance < TINY) & (x > a)
    if not far.any():
        return np.asarray(near)
    # Legendre's continued fraction, from its end.
    fraction = np.zeros_like(x)
    for term in range(TERMS, 0, -1):
        fraction = term * (a - term) / np.where(far, x + 2 * term + 1 - a + fraction, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = a * np.log(x) - x - gammaln(a) - np.log(x + 1 - a + fraction)
    return np.where(far, out, near)


def _whitening(vectors: Floats) -> FloatArray:
    """Directions of the indicators that differ, each divided by its length: the last indicator says nothing new."""
    gram = np.asarray(vectors.T @ vectors, dtype=np.float64)
    values, directions = np.linalg.eigh(gram)
    new = values > NOTHING_NEW
    return np.asarray(directions[:, new] / np.sqrt(values[new]), dtype=np.float64)
