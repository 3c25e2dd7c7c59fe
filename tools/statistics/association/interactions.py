"""Pairs that only work together: the product of two columns beside what each does alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..values import BoolArray, FiniteResult, FloatArray, IntArray, ranks_of
from .permutation import HEAVY, NOTHING_LEFT, Floats, Labels, each, unit
from .search import FamilywiseTest, family_wise

MOST = 64
"""Columns that are paired, each with each: 2,016 pairs."""
KNOWN, RUNS_A_FACTOR = 8, 30
"""Strongest factors of which the labels are cleared first: at most eight, and one for so many runs."""
LEAST_CORNER = 5
"""Runs that each of the four corners of a pair must have, the usual bound of a table of counts (Cochran 1954)."""
ALONE = 0.35
"""Share of what both do together that one may do alone, where both go with slow runs by themselves as well."""
BUDGET = 10_000_000
"""Runs times pairs that are looked at: more runs are sampled."""


class Interaction(FiniteResult):
    """Two clusters that go with slow runs together otherwise than each alone would say."""

    first: str
    """Name of a cluster."""
    second: str
    together: Literal["alike", "unlike"]
    """Runs are slow more than each explains alone when both are high or both low (alike), or when one is (unlike)."""
    p_value: float
    """Family-wise over all pairs, and paid for as the second look after the columns."""
    slow_shares: tuple[float, ...]
    """Share of slow runs with both low, only the second high, only the first high, both high (cut at the medians)."""
    runs: tuple[int, ...]
    """Runs in the same four."""


@dataclass(frozen=True)
class ColumnProducts:
    """What was paired."""

    first: IntArray
    second: IntArray
    products: Floats
    """Shape (runs, pairs): cleared of trend, both columns and their squares; of length one."""

    def only(self, which: BoolArray) -> ColumnProducts:
        """Give some of them, by a mask of shape (pairs,)."""
        return ColumnProducts(self.first[which], self.second[which], self.products[:, which])


def pairs_of(vectors: FloatArray, basis: FloatArray) -> ColumnProducts:
    """Pair columns (runs, c), given as ranks of length one without trend.

    The product of their ranks is cleared of both and of their squares: what a bent line in one column explains, and
    with it what two related columns share, is no interaction.
    """
    first, second = np.triu_indices(vectors.shape[1], 1)
    scaled = vectors * np.sqrt(vectors.shape[0])
    terms = np.concatenate((vectors, unit(_clear(scaled**2, basis) / np.sqrt(vectors.shape[0]))), axis=1)
    precision = np.float32 if vectors.shape[0] * first.size > 1_000_000 else np.float64
    products = _clear((scaled[:, first] * scaled[:, second]).astype(precision), basis.astype(precision))
    before = np.sqrt((products**2).sum(axis=0))
    products -= terms.astype(precision) @ _weights(terms, products, first, second).astype(precision)
    after = np.sqrt((products**2).sum(axis=0))
    products /= np.where(after > 0.01 * before, after, np.inf)
    return ColumnProducts(first, second, products)


def search_pairs(
    pairs: ColumnProducts, labels: Labels, known: FloatArray, permutations: int, seed: int
) -> FamilywiseTest:
    """Family-wise p-values of all pairs; `known` (runs, k) is what factors that stand already do alone.

    z is divided by its own standard error run by run (HC0), so that residuals that are larger where a main effect is
    steep do not pass for an interaction (DiCiccio and Romano 2017). Not so for labels in spells: there it gave .08 to
    .11 false pairs at .05, and the plain length .03 to .06 (200 runs, 100 columns that wander too, 120 reps).
    """
    space = np.linalg.qr(np.concatenate((labels.basis, known), axis=1))[0]
    residual = labels.residual - space @ (space.T @ labels.residual)
    count = pairs.first.size
    if not count or float(residual @ residual) <= 1e-9 * max(float(labels.residual @ labels.residual), 1e-300):
        return FamilywiseTest(p_value=1.0, p_values=(1.0,) * count, statistics=(0.0,) * count)
    cleared = replace(labels, residual=residual, basis=space)
    precision, squares = pairs.products.dtype, pairs.products**2
    outside = space.astype(precision)

    def z(rows: Floats) -> Floats:
        values: Floats = np.abs(rows @ pairs.products)
        own = (rows**2) @ squares if not labels.dependent else (rows**2).mean(axis=1, keepdims=True)
        return np.asarray(values / np.sqrt(np.maximum(own, 1e-30)))

    def work(chunk: tuple[int, int]) -> Floats:
        rows = cleared.draw(*chunk, seed, precision)[0]
        # The residual lies outside what was cleared; so must what stands in for it, or its noise is overstated.
        rows -= (rows @ outside) @ outside.T
        return z(rows)

    chunks = cleared.chunks(permutations, precision)
    drawn = np.concatenate(each(work, chunks, residual.size >= HEAVY))
    spread = np.ones(count)
    if labels.dependent:
        spread = np.sqrt(np.maximum((drawn.astype(np.float64) ** 2).mean(axis=0), 1.0))
    observed = z(residual[None, :].astype(precision))[0] / spread
    return family_wise(observed, (drawn / spread).max(axis=1), exact=precision == np.float64)


def alone(column: FloatArray, residual: FloatArray, basis: FloatArray) -> FloatArray:
    """Give what one column may do by itself: its ranks, their square, and the step that parts the labels best.

    Shape (runs, 3). Without the step, a column that parts the classes cleanly would leave its own bend unexplained.
    `residual` is what `basis`, orthonormal (runs, terms), leaves of the labels; the column still has its trend, which
    would bend the step.
    """
    order = np.argsort(column)
    # The step that explains most beside the basis.
    below = np.cumsum(residual[order])[:-1]
    n, size = column.size, np.arange(1, column.size)
    left = size - (np.cumsum(basis[order], axis=0)[:-1] ** 2).sum(axis=1)
    parts = (np.diff(column[order]) > 0) & (left > NOTHING_LEFT * n)
    apart = np.where(parts, below**2 / np.where(parts, left, 1.0), -1.0)
    step = (column > column[order][int(apart.argmax())]).astype(np.float64)
    ranks = unit(ranks_of(column)[:, None])[:, 0]
    return np.stack((ranks, ranks**2 * np.sqrt(n), (step - step.mean()) / np.sqrt(n)), axis=1)


def only_together(shares: tuple[float, ...]) -> bool:
    """Say whether the corner with most slow runs stands out: one of the two alone does little."""
    low, second, first, both = shares
    least, top = min(shares), max(shares)
    beside = max(first, second) if top in (low, both) else max(low, both)
    return beside - least <= ALONE * (top - least)


def signs(pairs: ColumnProducts, labels: Labels) -> FloatArray:
    """Positive where slow runs have both high or both low."""
    sign: FloatArray = np.sign(labels.residual.astype(pairs.products.dtype) @ pairs.products)
    return sign


def seen_apart(columns: FloatArray) -> BoolArray:
    """Which pairs of columns (runs, c) have runs enough in each of the four corners, in the order of `pairs_of`.

    Without, one or two runs that are far out in both tell what the two do together.
    """
    high = np.stack([_high(column) for column in columns.T], axis=1).astype(np.int64)
    both, each_high = high.T @ high, high.sum(axis=0)
    only_first, only_second = each_high[:, None] - both, each_high[None, :] - both
    neither = columns.shape[0] - both - only_first - only_second
    least = np.minimum(np.minimum(both, neither), np.minimum(only_first, only_second))
    enough: BoolArray = least[np.triu_indices(columns.shape[1], 1)] >= LEAST_CORNER
    return enough


def quadrants(first: FloatArray, second: FloatArray, slow: BoolArray) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Shares of slow runs and numbers of runs: both low, only the second high, only the first high, both high."""
    where = 2 * _high(first).astype(np.int64) + _high(second)
    runs = np.bincount(where, minlength=4)
    shares = np.bincount(where, weights=slow, minlength=4) / np.maximum(runs, 1)
    return tuple(shares.tolist()), tuple(runs.tolist())


def _high(column: FloatArray) -> BoolArray:
    """Above the median, or at it where nothing is above."""
    middle = np.median(column)
    high: BoolArray = column > middle
    return high if high.any() else column >= middle


def _clear(vectors: Floats, basis: Floats) -> Floats:
    cleared: Floats = vectors - basis @ (basis.T @ vectors)
    return cleared


def _weights(terms: FloatArray, products: Floats, first: IntArray, second: IntArray) -> FloatArray:
    """Least squares of each product on its own two columns and their squares, shape (terms, pairs)."""
    half = terms.shape[1] // 2
    own = np.stack((first, second, first + half, second + half), axis=1)
    gram = terms.T @ terms
    shared = np.asarray(terms.astype(products.dtype).T @ products, dtype=np.float64)
    number = np.arange(first.size)
    inverse = np.linalg.pinv(gram[own[:, :, None], own[:, None, :]], rcond=1e-6, hermitian=True)
    found = (inverse @ shared[own, number[:, None]][:, :, None])[:, :, 0]
    weights = np.zeros((terms.shape[1], first.size))
    weights[own, number[:, None]] = found
    return weights
