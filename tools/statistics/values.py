"""What the files of this room share: the shape of a result, arrays made fit for use, and their ranks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict

from ...knowledge.errors import VgoError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

SMALLEST, LARGEST = 1e-60, 1e60
"""Of the numbers that are computed with, apart from 0: fourth powers of others would be infinite, or nothing."""

LEAST_IN_CLASS = 5
"""Slow runs, and fast ones, without which nothing is said of what goes with slowness."""

WIDTHLESS = 1e-9
"""Of its ends, or of the range of the values: an interval as short as this is rounding, and says nothing is unsure."""


class FiniteResult(BaseModel):
    """Frozen, with finite numbers only, so that it can stand in a transcript; None says undefined."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class IntervalEstimate(FiniteResult):
    """A lower and an upper bound."""

    low: float
    high: float


class ColumnCorrelation(FiniteResult):
    """How far a column follows something: Spearman's correlation, `p_value` adjusted for all columns."""

    name: str
    correlation: float
    p_value: float


def finite(values: ArrayLike) -> FloatArray:
    """Keep the finite values of one column, in their order."""
    column = np.asarray(values, dtype=np.float64).ravel()
    return column[np.isfinite(column)]


def countable(value: float) -> bool:
    """Tell whether a number can be computed with: finite, and neither too large nor too small."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


def complete(values: ArrayLike) -> FloatArray:
    """Take one outcome a run, all finite: labels must stay in step with the rows of the run table."""
    column = np.asarray(values, dtype=np.float64).ravel()
    wrong = np.flatnonzero(~np.isfinite(column))
    if wrong.size:
        raise VgoError(f"The outcome of run {wrong[0]} is not a finite number: drop such runs before labelling.")
    return column


def number(value: float | np.floating) -> float | None:
    """Turn a numpy number into a float, and what is not finite into None."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def sorted_quantile(rows: FloatArray, share: float) -> FloatArray:
    """Interpolate a quantile along the last axis of sorted values, as numpy's default does, without sorting again."""
    place = share * (rows.shape[-1] - 1)
    below = int(place)
    above = min(below + 1, rows.shape[-1] - 1)
    low = rows[..., below]
    quantile: FloatArray = low + (rows[..., above] - low) * (place - below)
    return quantile


def centred_ranks(columns: FloatArray) -> FloatArray:
    """Twice the average rank in each column, less n + 1: whole numbers, so that sums are exact on any machine."""
    ranks = np.empty(columns.shape, order="F")
    for place in range(columns.shape[1]):
        ranks[:, place] = ranks_of(columns[:, place])
    return ranks


def ranks_of(column: FloatArray) -> FloatArray:
    """Rank one column as `centred_ranks` does, shape (n,)."""
    n = column.size
    order = np.argsort(column)
    ascending = column[order]
    starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    ranks = np.empty(n)
    if starts.size == n:
        ranks[order] = np.arange(1 - n, n + 1, 2)
    else:
        ends = np.append(starts[1:], n)
        ranks[order] = np.repeat(starts + ends - n, ends - starts)
    return ranks


def auc(columns: FloatArray, classes: ArrayLike) -> FloatArray:
    """Chance that a slow run has more of a column than a fast one (ties half): 0.5 says no link.

    `classes` is a mask of slow runs, or ordered classes, the worst the highest: then it is 1/2 + 1/2 cov(column rank,
    class rank) / var(class rank), which is 1 for perfect order and the usual AUC for two classes.
    """
    return auc_of_ranks(centred_ranks(columns), class_scores(classes))


def class_scores(classes: ArrayLike) -> FloatArray:
    """Centred ranks of the classes, shape (n,)."""
    return ranks_of(np.asarray(classes, dtype=np.float64).ravel())


def auc_of_ranks(ranks: FloatArray, scores: FloatArray) -> FloatArray:
    """AUC from the centred ranks of columns and of classes; 0.5 everywhere when there is one class."""
    spread = float(scores @ scores)
    if spread == 0:
        return np.full(ranks.shape[1], 0.5)
    area: FloatArray = 0.5 + 0.5 * (scores @ ranks) / spread
    return area


def auc_error(classes: ArrayLike) -> float:
    """Greatest standard error of an AUC without a link (no ties); for two classes sqrt((n + 1) / 12 / n1 / n0)."""
    scores = class_scores(classes)
    n, spread = scores.size, float(scores @ scores)
    return float(np.sqrt(n * (n + 1) / 12 / spread)) if spread else 0.5


def r_squared(x: ArrayLike, y: ArrayLike) -> float | None:
    """Share of the variance of y that a straight line in x accounts for; None where one does not vary."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    if not both.all():
        a, b = a[both], b[both]
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    u, v = _over_range(a), _over_range(b)
    return min(float((u @ v) ** 2 / (u @ u) / (v @ v)), 1.0)


def _over_range(x: FloatArray) -> FloatArray:
    """Less the mean, over the range; a power of two is taken out first, so that no sum overflows."""
    scaled: FloatArray = np.ldexp(x, -np.frexp(np.abs(x).max())[1])
    over: FloatArray = (scaled - scaled.mean()) / np.ptp(scaled)
    return over


def eta_squared(groups: IntArray, y: ArrayLike) -> float | None:
    """Share of the variance of y that lies between groups, numbered from 0; None where y or the groups do not vary."""
    v = np.asarray(y, dtype=np.float64)
    sizes = np.bincount(groups)
    if v.size < 2 or np.ptp(v) == 0 or (sizes > 0).sum() < 2:
        return None
    v = (v - v.mean()) / np.ptp(v)
    sums = np.bincount(groups, weights=v)
    between = float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())
    return float(min(between / (v @ v), 1.0))


def slow_mask(classes: ArrayLike) -> BoolArray:
    """Runs of the worst class."""
    labels = np.asarray(classes).ravel()
    worst: BoolArray = labels == labels.max() if labels.size else np.zeros(0, dtype=np.bool_)
    return worst if labels.size and labels.max() > labels.min() else np.zeros(labels.size, dtype=np.bool_)
