"""One p-value for everything that was looked at: the greatest statistic of the search, under permuted labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..ranks import centred_ranks
from ..values import BoolArray, FloatArray, IntArray, Result

CHUNK = 4_000_000
"""Labels permuted at a time: bounds the memory."""


class Search(Result):
    """Family-wise p-values."""

    p_value: float
    """That the best cluster of all would stand out so far by chance."""
    p_values: tuple[float, ...]
    """The same for each group, in their order; each has paid for the whole search."""
    statistics: tuple[float, ...]
    """Standardised rank sum of the strongest column of each group, without sign."""


def search_p_value(
    columns: FloatArray,
    slow: ArrayLike,
    groups: Sequence[Sequence[int]],
    permutations: int = 2000,
    seed: int = 0,
    block: int = 1,
    rates: FloatArray | None = None,
) -> Search:
    """Permute the labels (in circular blocks of `block` runs when neighbours depend on each other) and search again.

    With `rates`, the columns divided by run time, a column must stand out both raw and as a rate: its statistic is
    the lesser of the two. It is held against the greatest of both under permutation, which is valid for a column
    that has nothing to do with time and for one that is nothing but time; the noise of a consequence never counts.
    """
    mask: BoolArray = np.asarray(slow, dtype=np.bool_)
    if not groups or mask.all() or not mask.any():
        return Search(p_value=1.0, p_values=(1.0,) * len(groups), statistics=(0.0,) * len(groups))
    raw = centred_ranks(columns)
    both = raw if rates is None else np.hstack((raw, centred_ranks(rates)))
    scale = _scale(both, int(mask.sum()))
    z = np.split((mask.astype(np.float64) @ both) / scale, both.shape[1] // raw.shape[1])
    agree = np.sign(z[0]) == np.sign(z[-1])
    column_z = np.where(agree, np.minimum(np.abs(z[0]), np.abs(z[-1])), 0.0)
    observed = np.array([column_z[list(group)].max() for group in groups])
    greatest = _greatest(both, scale, mask, permutations, block, np.random.default_rng(seed))
    # Rank sums are whole numbers, so equals are equal; the margin only guards the division.
    beaten = (greatest[:, None] >= observed[None, :] - 1e-9).sum(axis=0)
    p_values = (1 + beaten) / (1 + permutations)
    return Search(
        p_value=float(p_values.min()),
        p_values=tuple(p_values.tolist()),
        statistics=tuple(observed.tolist()),
    )


def _scale(ranks: FloatArray, slow: int) -> FloatArray:
    """Standard deviation of the rank sum of `slow` runs drawn without replacement; ties are in it."""
    n = ranks.shape[0]
    scale: FloatArray = np.sqrt((ranks**2).mean(axis=0) * slow * (n - slow) / (n - 1))
    return np.where(scale > 0, scale, np.inf)


def _greatest(
    ranks: FloatArray, scale: FloatArray, mask: BoolArray, permutations: int, block: int, rng: np.random.Generator
) -> FloatArray:
    """Greatest |z| over all columns in each permutation."""
    step = max(1, CHUNK // mask.size)
    parts = []
    for start in range(0, permutations, step):
        order = _orders(mask.size, min(step, permutations - start), block, rng)
        parts.append(np.abs((mask[order].astype(np.float64) @ ranks) / scale).max(axis=1))
    return np.concatenate(parts)


def _orders(n: int, count: int, block: int, rng: np.random.Generator) -> IntArray:
    """Orders of the runs: the circle of runs is cut into blocks at a random place, and the blocks are shuffled."""
    blocks = -(-n // block)
    keys = np.repeat(rng.random((count, blocks)), block, axis=1)[:, :n]
    offset = rng.integers(n, size=(count, 1))
    order: IntArray = (np.argsort(keys, axis=1, kind="stable") + offset) % n
    return order
