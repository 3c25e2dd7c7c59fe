"""What a search by permutation needs: ranks of every column, and labels as chance would have made them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, rfft
from scipy.linalg import orth

from ..values import BoolArray, FloatArray, IntArray, auc_of_ranks, ranks_of

DEGREE = 3
RUNS_A_TERM = 15
"""The trend has at most one term for so many runs: with 60 and more it is a cubic, under 20 there is none."""
GATE = 1.645
"""Neighbours are alike: lag-1 correlation in standard errors. Runs in turns (A, B, A, B) are not: that is a design."""
LEFT = 1e-6
"""Share of the labels that must be left for neighbours to be alike in it."""
CHUNK_BYTES, LEAST_ROWS = 2**27, 64
"""Drawn at a time: bounds the memory, but fewer rows make a slow matrix product."""
LONG = 4096
"""Runs from which sorting random keys is the way to permute that takes less time."""
SEVERAL = 3
"""Decorrelation times that a block of runs takes."""

Floats = npt.NDArray[np.floating]
EXACT = 5_000_000
"""Entries above which single precision is used: its error of 1e-3 in a z is far below the noise of permutations."""
HEAVY = 20_000
"""Runs from which one column is worth a thread."""
NOTHING_LEFT = 1e-9
"""Share of the sum of squares below which a column is all trend."""
LEAST_LENGTH = 1e-4
"""Of what was a vector of length one: less is rounding."""


@dataclass(frozen=True)
class Labels:
    """What is left of the class scores after the trend in run order (Freedman and Lane 1983)."""

    residual: FloatArray
    """Shape (runs,)."""
    basis: FloatArray
    """Orthonormal trend, and what tells groups of runs apart, shape (runs, terms); its first column is constant."""
    dependent: bool
    """Neighbouring runs are alike: random phases (Theiler et al. 1992) take the place of permutations."""
    block: int
    """How many neighbouring runs belong together: 1 where they do not depend on each other."""
    trend_terms: int
    """Terms of the trend in the basis, the constant not counted."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of a correlation with the residual."""
        return max(int(self.residual.size - self.basis.shape[1]), 1)

    def chunks(self, count: int, precision: npt.DTypeLike) -> list[tuple[int, int]]:
        """Split `count` draws into (number, size); depends on the table only, so that seeds do not on the machine."""
        size = min(count, max(LEAST_ROWS, CHUNK_BYTES // (np.dtype(precision).itemsize * self.residual.size)))
        return [(number, min(size, count - start)) for number, start in enumerate(range(0, count, size))]

    def draw(self, number: int, size: int, seed: int, precision: npt.DTypeLike) -> tuple[Floats, FloatArray]:
        """Draw `size` series by chance, shape (size, runs), and 1 / their length without trend, shape (size,)."""
        rng = np.random.default_rng([seed, number])
        rows = (self._phases if self.dependent else self._permuted)(size, rng, precision)
        whole = float(self.residual @ self.residual)
        trend = np.asarray(rows @ self.basis.astype(precision), dtype=np.float64)
        return rows, 1 / np.sqrt(np.maximum(whole - (trend**2).sum(axis=1), 1e-12 * whole))

    def _permuted(self, size: int, rng: np.random.Generator, precision: npt.DTypeLike) -> Floats:
        residual = self.residual.astype(precision)
        if residual.size < LONG:
            return rng.permuted(np.tile(residual, (size, 1)), axis=1)
        rows = np.empty((size, residual.size), dtype=residual.dtype)
        number = np.arange(residual.size, dtype=np.uint64)
        for row in rows:
            # The low half of each key is the number of a run; the high half is random and decides its place.
            keys = rng.integers(2**32, size=residual.size, dtype=np.uint64) << np.uint64(32) | number
            keys.sort()
            np.take(residual, (keys & np.uint64(2**32 - 1)).astype(np.intp), out=row)
        return rows

    def _phases(self, size: int, rng: np.random.Generator, precision: npt.DTypeLike) -> Floats:
        n = self.residual.size
        spectrum = rfft(self.residual.astype(precision))
        turns = np.exp(2j * np.pi * rng.random((size, spectrum.size))).astype(spectrum.dtype)
        if n % 2 == 0:
            turns[:, -1] = np.sign(turns[:, -1].real) + (turns[:, -1].real == 0)
        turns *= spectrum
        rows: Floats = irfft(turns, n, axis=1)
        return rows


def labels_of(
    scores: FloatArray, ordered: bool, design: FloatArray | None = None, apart: IntArray | None = None
) -> Labels:
    """Take the trend out of class scores in run order; without an order there is neither trend nor dependence.

    `design` (runs, terms) is what was varied on purpose: spells that it makes are no dependence. `apart` (runs,)
    numbers groups of runs whose difference is known and no cause: it goes out as the trend does.
    """
    basis = trend_basis(scores.size, ordered)
    terms = basis.shape[1] - 1
    if apart is not None and (groups := np.unique(apart)[1:]).size:
        basis = orth(np.column_stack((basis, apart[:, None] == groups)), rcond=1e-9)
    residual = scores - basis @ (basis.T @ scores)
    if float(residual @ residual) <= 1e-9 * float(scores @ scores):
        residual = np.zeros_like(residual)
    r = _lag1(residual, basis, design) if ordered else 0.0
    alike = r > GATE / math.sqrt(scores.size)
    return Labels(residual, basis, alike, _block(r, scores.size) if alike else 1, terms)


def trend_basis(runs: int, ordered: bool) -> FloatArray:
    """Orthonormal polynomials of the run number up to a cubic, shape (runs, terms)."""
    degree = min(DEGREE, (runs - 5) // RUNS_A_TERM) if ordered else 0
    powers = np.linspace(-1, 1, runs)[:, None] ** np.arange(max(degree, 0) + 1)
    basis: FloatArray = np.linalg.qr(powers)[0]
    return basis


def _lag1(residual: FloatArray, basis: FloatArray, design: FloatArray | None) -> float:
    """Correlation of neighbouring runs in what neither trend nor design explains; 0 where nothing is left."""
    left = residual
    if design is not None and design.shape[1]:
        space = orth(design - basis @ (basis.T @ design), rcond=1e-6)
        left = residual - space @ (space.T @ residual)
    whole = float(left @ left)
    if whole <= LEFT * float(residual @ residual) or whole == 0:
        return 0.0
    return float(left[1:] @ left[:-1]) / whole


def _block(r: float, runs: int) -> int:
    """Some times (1 + r) / (1 - r), the decorrelation time of a first-order autoregression; at least five blocks."""
    r = min(max(r, 0.0), 0.98)
    return max(2, min(math.ceil(SEVERAL * (1 + r) / (1 - r)), runs // 5))


T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Iterable[T], heavy: bool) -> list[R]:
    """Map in order; on threads only when each piece is `heavy`, since numpy frees the lock for large arrays alone."""
    cores = len(os.sched_getaffinity(0))
    if not heavy or cores == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, items))


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
