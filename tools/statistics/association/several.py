"""Several factors at once: which of the visible ones still go with slow runs, given the stronger ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..values import FloatArray
from .chance import Labels
from .interactions import alone
from .ranked import LEAST_LENGTH, NOTHING_LEFT, RankedVectors, unit
from .search import search

MOST = 12
"""Factors that are looked at; what ranks behind them stays undecided."""
DRAWS = 1000
LEAST_RUNS = 50
NEW = 0.02
"""Share of a column's ranks that the stronger factors must leave unexplained, or it adds nothing."""


def independent(
    ranked: RankedVectors,
    labels: Labels,
    factors: Sequence[Sequence[int]],
    values: Callable[[int], FloatArray],
    alpha: float = 0.05,
    seed: int = 0,
) -> list[bool | None]:
    """Test each of the `factors` (strongest first) on what the stronger independent ones leave of ranks and labels.

    A factor is the column that speaks for it, or all indicators of a setting, which are tested as one. `values` gives
    a column as it was measured, shape (runs,).
    """
    decided: list[bool | None] = []
    basis = labels.basis
    for columns in factors[:MOST]:
        versions = np.unique(ranked.places[:, list(columns)])
        vectors = np.asarray(ranked.vectors[:, versions], dtype=np.float64)
        left = vectors - basis @ (basis.T @ vectors)
        new = (left**2).sum(axis=0)
        fresh = bool((new.max() if len(columns) > 1 else new.min()) > NEW)
        linked = not decided or (fresh and _linked(ranked, columns, left, labels, basis, seed) <= alpha)
        decided.append(linked)
        if linked:
            basis = _widened(basis, _terms(vectors, values(columns[0]), labels) if len(columns) == 1 else vectors)
    return decided + [None] * (len(factors) - len(decided))


def _linked(
    ranked: RankedVectors, columns: Sequence[int], left: FloatArray, labels: Labels, basis: FloatArray, seed: int
) -> float:
    residual = labels.residual - basis @ (basis.T @ labels.residual)
    if float(residual @ residual) <= NOTHING_LEFT * float(labels.residual @ labels.residual):
        return 1.0
    versions = np.unique(ranked.places[:, list(columns)])
    places = np.searchsorted(versions, ranked.places[:, list(columns)])
    only = replace(ranked, vectors=unit(left), places=places)
    rest = replace(labels, residual=residual, basis=basis)
    return search(only, rest, [range(len(columns))], DRAWS, seed, groups=[0] if len(columns) > 1 else ()).p_value


def _terms(vectors: FloatArray, column: FloatArray, labels: Labels) -> FloatArray:
    """What a factor explains: its versions, and with enough runs a bend and the step that parts the labels best."""
    if vectors.shape[0] < LEAST_RUNS:
        return vectors
    return np.concatenate((vectors, alone(column, labels.residual, labels.basis)), axis=1)


def _widened(basis: FloatArray, vectors: FloatArray) -> FloatArray:
    """Add vectors to an orthonormal basis; versions of one column may be the same vector."""
    for vector in vectors.T:
        left = vector - basis @ (basis.T @ vector)
        length = float(np.sqrt(left @ left))
        if length > max(LEAST_LENGTH, 1e-6 * float(np.sqrt(vector @ vector))):
            basis = np.concatenate((basis, left[:, None] / length), axis=1)
    return basis
