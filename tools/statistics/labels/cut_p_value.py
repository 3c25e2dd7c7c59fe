"""One p-value for every column at every cut: the greatest statistic of all, under outcomes made by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ..association.permutation import Floats, Labels, labels_of
from ..association.search import Grouped, grouped
from ..values import FloatArray, IntArray, centred_ranks, ranks_of

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
    versions: int
    """2 where there are columns per unit."""


class _Spread(NamedTuple):
    """What z is divided by, where runs depend on their neighbours and it is above one."""

    columns: FloatArray
    """Shape (columns, raw and then per unit,)."""
    together: Grouped
    grouped: IntArray
    """Columns that are in a group, in either version."""


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
    groups: Sequence[Sequence[int]] = (),
) -> Tested:
    """Order the runs by chance, cut after as many of them, and search again.

    Orders by chance are permutations or, where neighbouring runs are alike, those of series with the outcome's
    spectrum and random phases; the trend in run order is out of labels and columns (as in association). Held against
    the greatest |z| of either version of any column at any cut. `worse` grows with badness; `groups` are places of the
    indicators of one setting, which have one statistic at each cut.
    """
    links = _links(raw, per_unit, worse, cuts, ordered)
    spread = _spread(links, grouped(links.ranks, groups), seed)
    z, together = _z(links, np.argsort(worse, kind="stable")), spread.together
    alone = _lesser(z / spread.columns, raw.shape[1]).max(axis=0)
    alone[together.everyone] = 0
    joint = together.equivalent(together.sums(z)).max(axis=0)
    observed = max(float(alone.max()), float(joint.max(initial=0.0)))
    greatest = np.array([_greatest(_z(links, order), spread) for order in _orders(links, permutations, seed)])
    beaten = int((greatest >= observed * (1 - 1e-5) - 1e-9).sum())
    return Tested((1 + beaten) / (1 + permutations), _strongest(z, alone, joint, groups))


def _strongest(z: FloatArray, alone: FloatArray, joint: FloatArray, groups: Sequence[Sequence[int]]) -> int:
    """Find the column that stands out most; for a group, the indicator that does within it."""
    if not joint.size or alone.max() >= joint.max():
        return int(alone.argmax())
    members = list(groups[int(joint.argmax())])
    return members[int(np.abs(z[:, members]).max(axis=0).argmax())]


def _greatest(z: FloatArray, spread: _Spread) -> float:
    """Greatest |z| of one draw, over all cuts and either version of all columns."""
    together = spread.together
    joint = together.equivalent(together.sums(z)).max(initial=0.0)
    alone = np.abs(z / spread.columns)
    alone[:, spread.grouped] = 0
    return max(float(alone.max()), float(joint))


def _links(raw: FloatArray, per_unit: FloatArray | None, worse: FloatArray, cuts: FloatArray, ordered: bool) -> _Links:
    labels = labels_of(np.asarray(ndtri((ranks_of(worse) / worse.size + 1) / 2)), ordered)
    ranks = centred_ranks(raw if per_unit is None else np.hstack((raw, per_unit)))
    ranks -= labels.basis @ (labels.basis.T @ ranks)
    length = np.sqrt((ranks**2).sum(axis=0))
    ranks /= np.where(length > 1e-9 * worse.size, length, np.inf)
    # Halves the time; sums of thousands of ranks keep five digits.
    ranks = ranks.astype(np.float32)
    starts = np.searchsorted(np.sort(worse), cuts, side="right")
    return _Links(ranks, starts, labels, 1 if per_unit is None else 2)


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


def _spread(links: _Links, together: Grouped, seed: int) -> _Spread:
    """Learn how far columns and groups stray by chance: else the slowest of them would set the bar for all."""
    half = links.ranks.shape[1] // 2
    both = np.concatenate((together.everyone, together.everyone + half if links.versions == 2 else together.everyone))
    if not links.labels.dependent:
        return _Spread(np.ones(links.ranks.shape[1]), together, both)
    draws = [_z(links, order) for order in _orders(links, FIRST_DRAWS, seed + 1)]
    squares = np.mean([(z**2).mean(axis=0) for z in draws], axis=0)
    sums = np.mean([together.sums(z).mean(axis=0) for z in draws], axis=0)
    scale = np.maximum(sums / np.maximum(together.freedom, 1), 1.0)
    return _Spread(np.sqrt(np.maximum(squares, 1.0)), replace(together, own_scale=scale), both)


def _lesser(z: FloatArray, columns: int) -> FloatArray:
    raw, unit = z[:, :columns], z[:, -columns:]
    return np.where(raw * unit > 0, np.minimum(np.abs(raw), np.abs(unit)), 0.0)
