"""One p-value for every column at every cut: the greatest statistic of all, under outcomes made by chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from ..association.chance import Floats, Labels, labels_of
from ..ranks import centred_ranks
from ..values import FloatArray, IntArray

PLAIN, REMAINS = 3.5, 0.5
"""A column with more than this |z| raw and less than this share of it per unit counts the outcome in other words."""
FIRST_DRAWS = 200
"""To learn how far each column strays by chance where runs depend on their neighbours."""


class Tested(NamedTuple):
    """The strongest link of all."""

    p_value: float
    column: int


class _Links(NamedTuple):
    """All that the statistics of any order of the runs need."""

    ranks: Floats
    """Ranks of columns, raw and then per unit, less their trend; each of length one."""
    starts: IntArray
    """Where the runs above each cut begin, in ascending outcome."""
    labels: Labels
    """Normal scores of the outcome less their trend."""


def strongest(
    raw: FloatArray, per_unit: FloatArray | None, worse: FloatArray, cuts: FloatArray, *, ordered: bool, most: int
) -> IntArray:
    """Columns by their lesser |z| of raw and per unit at their best cut, without those whose link is gone per unit."""
    z = _z(_links(raw, per_unit, worse, cuts, ordered), np.argsort(worse, kind="stable"))
    lesser, plain = _lesser(z, raw.shape[1]).max(axis=0), np.abs(z[:, : raw.shape[1]]).max(axis=0)
    gone = (plain > PLAIN) & (lesser < REMAINS * plain)
    order = np.lexsort((-lesser, gone))
    return order[: max(1, min(most, int((~gone).sum())))]


def cut_p_value(
    raw: FloatArray,
    per_unit: FloatArray | None,
    worse: FloatArray,
    cuts: FloatArray,
    *,
    ordered: bool,
    permutations: int,
    seed: int,
) -> Tested:
    """Order the runs by chance, cut after as many of them, and search again.

    Orders by chance are permutations or, where neighbouring runs are alike, those of series with the outcome's
    spectrum and random phases; the trend in run order is out of labels and columns (as in association). Held against
    the greatest |z| of either version of any column at any cut. `worse` grows with badness.
    """
    links = _links(raw, per_unit, worse, cuts, ordered)
    spread = _spread(links, seed)
    observed = _lesser(_z(links, np.argsort(worse, kind="stable")) / spread, raw.shape[1]).max(axis=0)
    greatest = np.array(
        [float(np.abs(_z(links, order) / spread).max()) for order in _orders(links, permutations, seed)]
    )
    beaten = int((greatest >= observed.max() * (1 - 1e-5) - 1e-9).sum())
    return Tested((1 + beaten) / (1 + permutations), int(observed.argmax()))


def _links(raw: FloatArray, per_unit: FloatArray | None, worse: FloatArray, cuts: FloatArray, ordered: bool) -> _Links:
    labels = labels_of(np.asarray(ndtri((rankdata(worse) - 0.5) / worse.size)), ordered)
    ranks = centred_ranks(raw if per_unit is None else np.hstack((raw, per_unit)))
    ranks -= labels.basis @ (labels.basis.T @ ranks)
    length = np.sqrt((ranks**2).sum(axis=0))
    ranks /= np.where(length > 1e-9 * worse.size, length, np.inf)
    # Halves the time; sums of thousands of ranks keep five digits.
    ranks = ranks.astype(np.float32)
    return _Links(ranks, np.searchsorted(np.sort(worse), cuts, side="right"), labels)


def _z(links: _Links, ascending: IntArray) -> FloatArray:
    """Standardised sum of ranks over the runs above each cut, for runs in ascending outcome: cuts x columns."""
    starts, basis = links.starts, links.labels.basis
    sums = np.cumsum(np.add.reduceat(links.ranks[ascending], starts, axis=0)[::-1], axis=0)[::-1]
    trend = np.cumsum(np.add.reduceat(basis[ascending], starts, axis=0)[::-1], axis=0)[::-1]
    rest = np.maximum(ascending.size - starts - (trend**2).sum(axis=1), 1e-9)
    z: FloatArray = sums / np.sqrt(rest / links.labels.freedom)[:, None]
    return z


def _orders(links: _Links, draws: int, seed: int) -> IntArray:
    parts = [
        links.labels.draw(number, size, seed, np.float32)[0] for number, size in links.labels.chunks(draws, np.float32)
    ]
    return np.argsort(np.concatenate(parts)[:draws], axis=1)


def _spread(links: _Links, seed: int) -> FloatArray | float:
    """Spread of each column's z by chance, where above one: else the slowest columns would set the bar for all."""
    if not links.labels.dependent:
        return 1.0
    squares = [(_z(links, order) ** 2).mean(axis=0) for order in _orders(links, FIRST_DRAWS, seed + 1)]
    spread: FloatArray = np.sqrt(np.maximum(np.mean(squares, axis=0), 1.0))
    return spread


def _lesser(z: FloatArray, columns: int) -> FloatArray:
    raw, unit = z[:, :columns], z[:, -columns:]
    return np.where(raw * unit > 0, np.minimum(np.abs(raw), np.abs(unit)), 0.0)
