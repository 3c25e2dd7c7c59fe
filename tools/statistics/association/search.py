"""P-values for all that was looked at, of columns and of groups: the greatest of the search, under labels by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln, ndtri_exp

from ..values import FiniteResult, FloatArray, IntArray
from .permutation import HEAVY, Floats, Labels, RankedVectors, each, lesser

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


class FamilywiseTest(FiniteResult):
    """Family-wise p-values."""

    p_value: float
    """That the best cluster of all would stand out so far by chance."""
    p_values: tuple[float, ...]
    """The same for each cluster, in their order; each has paid for the whole search."""
    statistics: tuple[float, ...]
    """|z| of the strongest column of each cluster; of a group, the |z| that is as rare as its sum."""


def search(
    ranked: RankedVectors,
    labels: Labels,
    clusters: Sequence[Sequence[int]],
    permutations: int = 2000,
    seed: int = 0,
    groups: Sequence[int] = (),
) -> FamilywiseTest:
    """Draw the labels anew and search again, over all versions of all columns.

    `groups` are the clusters that are the indicators of one setting: each has one statistic (see `grouped`), in the
    table as in every draw.

    A column must stand out in every version, raw and divided: its statistic is the lesser |z|. It is held against the
    greatest of all versions by chance, which is valid for a column that has nothing to do with time and for one that
    is nothing but time; the noise of a consequence never counts.

    The trend is out of labels and ranks, and what is left of the labels is permuted (Freedman and Lane 1983). Where
    that comes in spells, its spectrum is kept and its phases are drawn (Theiler et al. 1992), and a column that comes
    in spells too has each z divided by its own spread under chance, where that is above one: else the slowest columns
    would set the bar for all. Simulated at the null (n 60 and 200, 90 columns of which 60 wander too, 150 to 300
    reps): false cause .02 to .09 at .04, where blocks of runs gave up to .41.
    """
    links = float(np.sqrt(labels.freedom)) * _z(labels.residual[None, :], ranked.vectors)[0]
    length = float(np.sqrt(labels.residual @ labels.residual))
    if not clusters or length == 0:
        return FamilywiseTest(p_value=1.0, p_values=(1.0,) * len(clusters), statistics=(0.0,) * len(clusters))
    together = grouped(ranked.vectors, [ranked.places[0, list(clusters[group])].tolist() for group in groups])
    chance = _by_chance(ranked.vectors, labels, together, permutations, seed)
    z = links / length
    observed = strongest(lesser(z / chance.spread, ranked.places), clusters)
    observed[list(groups)] = chance.together.equivalent(together.sums(z))
    greatest = chance.greatest
    return family_wise(observed, greatest, exact=ranked.vectors.dtype == np.float64)


def family_wise(observed: FloatArray, greatest: FloatArray, exact: bool) -> FamilywiseTest:
    """Count how often chance did as well; the margin only guards rounding, so that equals are equal."""
    ascending = np.sort(greatest)
    reached = observed * (1 - (1e-9 if exact else 1e-5)) - 1e-9
    beaten = greatest.size - np.searchsorted(ascending, reached, side="left")
    p_values = (1 + beaten) / (1 + greatest.size)
    return FamilywiseTest(
        p_value=float(p_values.min()), p_values=tuple(p_values.tolist()), statistics=tuple(observed.tolist())
    )


def strongest(column_z: FloatArray, clusters: Sequence[Sequence[int]]) -> FloatArray:
    """Greatest of the members of each cluster; columns along the last axis."""
    order = np.concatenate([np.asarray(list(cluster), dtype=np.int64) for cluster in clusters])
    starts: IntArray = np.cumsum([0, *(len(cluster) for cluster in clusters[:-1])])
    greatest: FloatArray = np.maximum.reduceat(column_z[..., order], starts, axis=-1)
    return greatest


class _Chance(NamedTuple):
    """What the draws showed."""

    greatest: FloatArray
    """The greatest |z| of each draw, shape (permutations,)."""
    spread: FloatArray
    """What the z of each vector was divided by, shape (m,)."""
    together: Grouped
    """The groups, with what their sums were divided by."""


def _by_chance(vectors: Floats, labels: Labels, together: Grouped, permutations: int, seed: int) -> _Chance:
    precision, everyone = vectors.dtype, together.everyone

    def work(chunk: tuple[int, int]) -> tuple[Floats, FloatArray]:
        rows, scale = labels.draw(*chunk, seed, precision)
        z = _z(rows, vectors) * (scale * np.sqrt(labels.freedom)).astype(precision)[:, None]
        sums = together.sums(z)
        z[:, everyone] = 0
        z = np.abs(z, out=z)
        return (z if labels.dependent else z.max(axis=1)), sums

    parts = each(work, labels.chunks(permutations, precision), labels.residual.size >= HEAVY)
    sums = np.concatenate([own for _, own in parts])
    spread = np.ones(vectors.shape[1])
    if labels.dependent:
        squares = sum((part.astype(np.float64) ** 2).sum(axis=0) for part, _ in parts)
        spread = np.sqrt(np.maximum(squares / permutations, 1.0))
        together = replace(together, own_scale=np.maximum(sums.mean(axis=0) / np.maximum(together.freedom, 1), 1.0))
        parts = [((part / spread.astype(precision)).max(axis=1), own) for part, own in parts]
    alone = np.concatenate([part for part, _ in parts]).astype(np.float64)
    return _Chance(np.maximum(alone, together.equivalent(sums).max(axis=1, initial=0.0)), spread, together)


def _z(rows: Floats, vectors: Floats) -> Floats:
    """Inner products of each row with each vector, in the precision of the vectors."""
    return np.asarray(rows.astype(vectors.dtype, copy=False) @ vectors)
