"""What the files of this room share: the shape of a result, and arrays made fit for use."""

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
