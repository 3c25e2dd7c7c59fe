"""Ranks of every column, raw and per unit, as the search needs them: without the trend in run order, of length one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ..ranks import auc_of_ranks, ranks_of
from ..values import BoolArray, FloatArray, IntArray
from .chance import Floats, Labels

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Iterable[T], heavy: bool) -> list[R]:
    """Map in order; on threads only when each piece is `heavy`, since numpy frees the lock for large arrays alone."""
    cores = len(os.sched_getaffinity(0))
    if not heavy or cores == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, items))


EXACT = 5_000_000
"""Entries above which single precision is used: its error of 1e-3 in a z is far below the noise of permutations."""
HEAVY = 20_000
"""Runs from which one column is worth a thread."""
NOTHING_LEFT = 1e-9
"""Share of the sum of squares below which a column is all trend."""

LEAST_LENGTH = 1e-4
"""Of what was a vector of length one: less is rounding."""


@dataclass(frozen=True)
class RankedVectors:
    """`m` vectors over the runs, each a version of a column: as it is, or divided or multiplied by a divisor."""

    vectors: Floats
    """Shape (runs, m), Fortran order, orthogonal to the trend, of length one; zero where a column is all trend."""
    places: IntArray
    """Shape (versions, columns): which vector is that version of a column; a level has one vector for all."""
    auc: FloatArray
    """Shape (m,), before the trend is taken out."""
    trend: FloatArray
    """Shape (m,): share of the variance of the ranks that is trend."""
    lag1: FloatArray
    """Shape (m,): correlation of neighbouring runs in what is left."""

    @property
    def columns(self) -> int:
        """How many; their undivided versions are the first vectors."""
        return int(self.places.shape[1])

    @property
    def raw(self) -> Floats:
        """Vectors of the undivided columns, shape (runs, columns); a view."""
        return self.vectors[:, : self.columns]


def rank(
    values: FloatArray,
    scores: FloatArray,
    basis: FloatArray,
    divisors: FloatArray,
    divided: BoolArray,
    multiplied: BoolArray | None = None,
) -> RankedVectors:
    """Rank columns (runs, p) against class scores (runs,); divisors (runs, d); `basis` orthonormal (runs, terms).

    Columns to be `divided` have a version divided by each divisor, those to be `multiplied` one multiplied by it.
    """
    times = np.zeros_like(divided) if multiplied is None else multiplied
    other = divided | times
    runs, p = values.shape
    places = [np.arange(p)]
    jobs: list[tuple[int, int | None]] = [(column, None) for column in range(p)]
    for divisor in range(divisors.shape[1]):
        places.append(np.arange(p))
        places[-1][other] = len(jobs) + np.arange(int(other.sum()))
        jobs += [(int(column), divisor) for column in np.flatnonzero(other)]
    precision = np.float64 if runs * len(jobs) <= EXACT else np.float32
    vectors = np.empty((runs, len(jobs)), dtype=precision, order="F")
    facts = np.empty((len(jobs), 3))

    def work(place: int) -> None:
        column, divisor = jobs[place]
        x = values[:, column]
        if divisor is not None:
            x = x * divisors[:, divisor] if times[column] else x / divisors[:, divisor]
        ranks = ranks_of(x)
        facts[place, 0] = auc_of_ranks(ranks[:, None], scores)[0]
        left, facts[place, 1], facts[place, 2] = _without_trend(ranks, basis)
        vectors[:, place] = left

    each(work, range(len(jobs)), runs >= HEAVY)
    return RankedVectors(vectors, np.stack(places), *facts.T.copy())


def keep(ranked: RankedVectors, columns: BoolArray) -> RankedVectors:
    """Keep some of the columns. The vectors move up in their own memory, so the old `ranked` must not be used again."""
    if columns.all():
        return ranked
    wanted = np.unique(ranked.places[:, columns])
    for to, source in enumerate(wanted.tolist()):
        if to != source:
            ranked.vectors[:, to] = ranked.vectors[:, source]
    return RankedVectors(
        vectors=ranked.vectors[:, : wanted.size],
        places=np.searchsorted(wanted, ranked.places[:, columns]),
        auc=ranked.auc[wanted],
        trend=ranked.trend[wanted],
        lag1=ranked.lag1[wanted],
    )


def lesser(z: FloatArray, places: IntArray) -> FloatArray:
    """Take the least |z| over the versions of each column, 0 where signs disagree: (..., m) to (..., columns)."""
    least = np.abs(z[..., places[0]])
    signs = np.sign(z[..., places[0]])
    for version in places[1:]:
        other = z[..., version]
        least = np.minimum(least, np.where(np.sign(other) == signs, np.abs(other), 0.0))
    return least


def restrict(ranked: RankedVectors, labels: Labels, rows: IntArray) -> tuple[RankedVectors, Labels]:
    """Keep some of the runs, in order: trend and lengths are taken anew."""
    if rows.size == labels.residual.size:
        return ranked, labels
    basis = np.linalg.qr(labels.basis[rows])[0]
    vectors = np.asarray(ranked.vectors[rows], dtype=np.float64)
    residual = labels.residual[rows]
    fewer = replace(labels, residual=residual - basis @ (basis.T @ residual), basis=basis)
    return replace(ranked, vectors=unit(vectors - basis @ (basis.T @ vectors))), fewer


def unit(vectors: FloatArray) -> FloatArray:
    """Give columns the length one; what is next to nothing becomes zero."""
    lengths = np.sqrt((vectors**2).sum(axis=0))
    return vectors / np.where(lengths > LEAST_LENGTH, lengths, np.inf)


def _without_trend(ranks: FloatArray, basis: FloatArray) -> tuple[FloatArray, float, float]:
    """Take the trend out: the rest with length one, the share that was trend, the correlation of neighbours."""
    whole = float(ranks @ ranks)
    left = ranks - basis @ (basis.T @ ranks)
    squares = float(left @ left)
    if squares <= NOTHING_LEFT * whole or whole == 0:
        return np.zeros_like(ranks), 1.0, 0.0
    return left / np.sqrt(squares), 1 - squares / whole, float(left[1:] @ left[:-1]) / squares
