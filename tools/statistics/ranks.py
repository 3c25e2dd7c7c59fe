"""Rank statistics of all columns at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from .values import BoolArray, FloatArray


def centred_ranks(columns: FloatArray) -> FloatArray:
    """Twice the average rank in each column, less n + 1: whole numbers, so that sums are exact on any machine."""
    return np.asarray(2 * rankdata(columns, axis=0) - (columns.shape[0] + 1), dtype=np.float64)


def auc(columns: FloatArray, slow: ArrayLike) -> FloatArray:
    """Chance that a slow run has more of a column than a fast one (ties half): 0.5 says no link."""
    mask = np.asarray(slow, dtype=np.bool_)
    return auc_of_ranks(centred_ranks(columns), mask)


def auc_of_ranks(ranks: FloatArray, mask: BoolArray) -> FloatArray:
    """AUC from centred ranks; 0.5 everywhere when one class is empty."""
    pairs = int(mask.sum()) * int((~mask).sum())
    if not pairs:
        return np.full(ranks.shape[1], 0.5)
    area: FloatArray = 0.5 + ranks[mask].sum(axis=0) / 2 / pairs
    return area


def auc_error(mask: BoolArray) -> float:
    """Greatest standard error of an AUC when there is no link (no ties)."""
    pairs = int(mask.sum()) * int((~mask).sum())
    return float(np.sqrt((mask.size + 1) / 12 / pairs)) if pairs else 0.5


def spearman(columns: FloatArray) -> FloatArray:
    """Rank correlation of every column with every other; a constant column correlates with none."""
    ranks = centred_ranks(columns)
    products = ranks.T @ ranks
    length = np.sqrt(np.diag(products))
    length[length == 0] = np.inf
    rho: FloatArray = products / length[:, None] / length[None, :]
    np.fill_diagonal(rho, 1.0)
    return np.clip(rho, -1.0, 1.0)


def r_squared(x: ArrayLike, y: ArrayLike) -> float | None:
    """Share of the variance of y that a straight line in x accounts for; None where one does not vary."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 2 or np.ptp(a[both]) == 0 or np.ptp(b[both]) == 0:
        return None
    u = (a[both] - a[both].mean()) / np.ptp(a[both])
    v = (b[both] - b[both].mean()) / np.ptp(b[both])
    return float(min((u @ v) ** 2 / (u @ u) / (v @ v), 1.0))
