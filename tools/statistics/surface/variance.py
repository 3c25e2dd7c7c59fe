"""Analysis of variance of cells, type II, with pairs of settings, and the sizes of the effects."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_law
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from ..values import FloatArray, IntArray, Result

LEAST_RESIDUAL = 5
"""Degrees of freedom that must be left over; pairs that leave fewer are not tested."""


class Factor(NamedTuple):
    """One setting: levels by number, or a quantity that is taken straight and squared."""

    name: str
    codes: IntArray | None
    """Shape (cells,)."""
    quantity: FloatArray | None


class Effect(Result):
    """One line of the table."""

    term: tuple[str, ...]
    """One setting, or two that work together."""
    df: int
    sum_squares: float
    f: float
    p: float
    eta2: float
    """Share of the whole sum of squares."""
    omega2: float
    """The same without the share that chance would have; 0 where that is more."""


class Variance(Result):
    """The table; terms in the order of their size."""

    effects: tuple[Effect, ...]
    residual_df: int
    residual_squares: float
    whole_squares: float
    untested: tuple[tuple[str, ...], ...]
    """Pairs for which too few cells are left over."""


def analyse(factors: Sequence[Factor], y: FloatArray) -> Variance | None:
    """Test each setting and pair; `y` has one value a cell. None where the settings alone leave too few cells.

    Type II: a term is added to all terms that do not contain it. Cells that are missing from the full cross leave pairs
    with fewer degrees of freedom, which are counted by the rank.
    """
    blocks: dict[tuple[str, ...], FloatArray] = {(factor.name,): _columns(factor) for factor in factors}
    if _rest(blocks, y)[1] < LEAST_RESIDUAL:
        return None
    untested = _add_pairs(blocks, y)
    missed, left = _rest(blocks, y)
    scale = missed / left
    whole = float(((y - y.mean()) ** 2).sum())
    found = [_effect(term, blocks, y, scale, left, whole) for term in blocks]
    return Variance(
        effects=tuple(sorted((one for one in found if one.df), key=lambda one: -one.eta2)),
        residual_df=left,
        residual_squares=missed,
        whole_squares=whole,
        untested=tuple(untested),
    )


def _columns(factor: Factor) -> FloatArray:
    if factor.codes is not None:
        return np.asarray(factor.codes[:, None] == np.unique(factor.codes)[1:], dtype=np.float64)
    assert factor.quantity is not None
    centred = factor.quantity - factor.quantity.mean()
    return np.column_stack((centred, centred**2))


def _add_pairs(blocks: dict[tuple[str, ...], FloatArray], y: FloatArray) -> list[tuple[str, ...]]:
    """Add pairs, the smallest first, while enough cells are left over."""
    alone = list(blocks)
    pairs = {
        one + two: (blocks[one][:, :, None] * blocks[two][:, None, :]).reshape(len(y), -1)
        for one, two in itertools.combinations(alone, 2)
    }
    untested = []
    for term, made in sorted(pairs.items(), key=lambda pair: pair[1].shape[1]):
        blocks[term] = made
        if _rest(blocks, y)[1] < LEAST_RESIDUAL:
            del blocks[term]
            untested.append(term)
    return untested


def _rest(blocks: dict[tuple[str, ...], FloatArray], y: FloatArray) -> tuple[float, int]:
    """Give the residual sum of squares and degrees of freedom of the model with these terms."""
    return _fit(blocks.values(), y)


def _fit(blocks: Iterable[FloatArray], y: FloatArray) -> tuple[float, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularMatrixWarning)  # cells that are missing: the rank counts
        fitted = OLS(y, np.hstack((np.ones((len(y), 1)), *blocks))).fit()
    return float(fitted.ssr), round(float(fitted.df_resid))


def _effect(
    term: tuple[str, ...],
    blocks: dict[tuple[str, ...], FloatArray],
    y: FloatArray,
    scale: float,
    left: int,
    whole: float,
) -> Effect:
    others = [made for other, made in blocks.items() if not set(term) <= set(other)]
    without, more = _fit(others, y)
    with_it, fewer = _fit([*others, blocks[term]], y)
    df, squares = more - fewer, max(without - with_it, 0.0)
    f = squares / df / scale if df and scale > 0 else 0.0
    return Effect(
        term=term,
        df=df,
        sum_squares=squares,
        f=f,
        p=float(f_law.sf(f, df, left)) if df else 1.0,
        eta2=squares / whole if whole else 0.0,
        omega2=max((squares - df * scale) / (whole + scale), 0.0) if whole else 0.0,
    )
