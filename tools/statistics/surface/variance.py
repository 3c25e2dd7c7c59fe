"""Analysis of variance of cells, type II, with pairs of settings, and the sizes of the effects.

With replicated runs a cell counts by its number of runs, and effects are tested against the scatter within cells, the
pure error: Montgomery, Design and Analysis of Experiments, section 5.3. What single settings and pairs leave
unexplained between cells is the term of higher interactions.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import f as f_law
from scipy.stats import sobol_indices, uniform
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from ..values import FiniteResult, FloatArray, IntArray

FEWEST_IN_CELL = 3
"""Runs of a cell that say something about its spread by deviations from a median."""
LEAST_RESIDUAL = 5
"""Degrees of freedom that must be left over; pairs that leave fewer are not tested."""
HIGHER = ("higher interactions",)
"""Term of what settings and pairs leave unexplained between the cells."""
DRAWN = 1024
"""Base points; a power of two."""


class CellReplicates(NamedTuple):
    """Runs summed up by cell: all that the analysis needs of them."""

    means: FloatArray
    """Shape (cells,)."""
    runs: FloatArray
    """Shape (cells,): runs in each cell."""
    squares: float
    """Within the cells: the pure error."""

    @property
    def left(self) -> int:
        """Degrees of freedom of the pure error."""
        return int(self.runs.sum()) - len(self.runs)


def replicates(runs: Sequence[FloatArray]) -> CellReplicates:
    """Sum up the runs of each cell."""
    means = np.array([one.mean() for one in runs])
    squares = sum(float(((one - mean) ** 2).sum()) for one, mean in zip(runs, means, strict=True))
    return CellReplicates(means, np.array([float(len(one)) for one in runs]), squares)


def deviations(runs: FloatArray, relative: bool = False) -> FloatArray:
    """Give the absolute deviations from the median of a cell (Brown and Forsythe, JASA 69, 1974), for its spread.

    Times sqrt(n / (n - 1)), so that cells of few runs do not look steady (Keyes and Levin, JASA 92, 1997). Relative: in
    parts of the mean of the cell, as a CV is. Raises ZeroDivisionError where that mean is 0.
    """
    apart: FloatArray = np.abs(runs - np.median(runs)) * np.sqrt(len(runs) / (len(runs) - 1))
    if not relative:
        return apart
    mean = abs(float(runs.mean()))
    if not mean:
        raise ZeroDivisionError("the mean of a cell is 0")
    return apart / mean


class AnovaFactor(NamedTuple):
    """One setting: levels by number, or a quantity that is taken straight and squared."""

    name: str
    codes: IntArray | None
    """Shape (cells,)."""
    quantity: FloatArray | None


class AnovaRow(FiniteResult):
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


class Variance(FiniteResult):
    """The table; terms in the order of their size."""

    effects: tuple[AnovaRow, ...]
    residual_df: int
    residual_squares: float
    whole_squares: float
    untested: tuple[tuple[str, ...], ...]
    """Pairs for which too few cells are left over, or that these cells cannot tell from other terms."""
    runs: int | None = None
    """Replicated runs, whose scatter within cells is the residual; None: one value a cell."""


def analyse(factors: Sequence[AnovaFactor], y: FloatArray, replicated: CellReplicates | None = None) -> Variance | None:
    """Test each setting and pair; `y` has one value a cell. None where the settings alone leave too few cells.

    Type II: a term is added to all terms that do not contain it. Cells that are missing from the full cross leave pairs
    with fewer degrees of freedom, which are counted by the rank; a pair that would leave a setting fewer is not tested.
    `replicated`: the runs behind `y`, its means.
    """
    blocks: dict[tuple[str, ...], FloatArray] = {(factor.name,): _columns(factor) for factor in factors}
    cells = _Cells(y, np.ones(len(y)) if replicated is None else np.sqrt(replicated.runs))
    least, free = (LEAST_RESIDUAL, 0) if replicated is None else (0, replicated.left)
    if cells.rest(blocks.values())[1] + free < LEAST_RESIDUAL or (replicated is not None and free < LEAST_RESIDUAL):
        return None
    untested = _add_pairs(blocks, cells, least)
    missed, left = cells.rest(blocks.values())
    pure, free = (missed, left) if replicated is None else (replicated.squares, replicated.left)
    error = _Error(pure / free, free, cells.whole + (0.0 if replicated is None else pure))
    found = [_effect(term, blocks, cells, error) for term in blocks]
    untested += [one.term for one in found if len(one.term) > 1 and not one.df]
    if replicated is not None:
        found.append(_sized(HIGHER, left, missed, error))
    return Variance(
        effects=tuple(sorted((one for one in found if one.df), key=lambda one: -one.eta2)),
        residual_df=free,
        residual_squares=pure,
        whole_squares=error.whole,
        untested=tuple(untested),
        runs=None if replicated is None else int(replicated.runs.sum()),
    )


class _Error(NamedTuple):
    """What effects are tested against."""

    scale: float
    df: int
    whole: float
    """The whole sum of squares."""


@dataclass(frozen=True)
class _Cells:
    """One value a cell, and the root of its weight; both of shape (cells,)."""

    y: FloatArray
    root: FloatArray

    @property
    def whole(self) -> float:
        """Sum of squares about the mean."""
        weight = self.root**2
        return float((weight * (self.y - np.average(self.y, weights=weight)) ** 2).sum())

    def rest(self, blocks: Iterable[FloatArray]) -> tuple[float, int]:
        """Give the residual sum of squares and degrees of freedom of the model with these terms."""
        made = self.root[:, None] * np.hstack((np.ones((len(self.y), 1)), *blocks))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularMatrixWarning)  # cells that are missing: the rank counts
            fitted = OLS(self.root * self.y, made).fit()
        return float(fitted.ssr), round(float(fitted.df_resid))


def _columns(factor: AnovaFactor) -> FloatArray:
    if factor.codes is not None:
        return np.asarray(factor.codes[:, None] == np.unique(factor.codes)[1:], dtype=np.float64)
    assert factor.quantity is not None
    centred = factor.quantity - factor.quantity.mean()
    return np.column_stack((centred, centred**2))


def _add_pairs(blocks: dict[tuple[str, ...], FloatArray], cells: _Cells, least: int) -> list[tuple[str, ...]]:
    """Add pairs, the smallest first, while enough cells are left over and every setting can still be told from them."""
    pairs = {
        one + two: (blocks[one][:, :, None] * blocks[two][:, None, :]).reshape(len(cells.y), -1)
        for one, two in itertools.combinations(list(blocks), 2)
    }
    free = {term: _df(term, blocks, cells) for term in blocks}
    untested = []
    for term, made in sorted(pairs.items(), key=lambda pair: pair[1].shape[1]):
        blocks[term] = made
        apart = [one for one in free if not set(one) <= set(term)]
        if cells.rest(blocks.values())[1] < least or any(_df(one, blocks, cells) < free[one] for one in apart):
            del blocks[term]
            untested.append(term)
    return untested


def _others(term: tuple[str, ...], blocks: dict[tuple[str, ...], FloatArray]) -> list[FloatArray]:
    """Give the terms that do not contain this one."""
    return [made for other, made in blocks.items() if not set(term) <= set(other)]


def _df(term: tuple[str, ...], blocks: dict[tuple[str, ...], FloatArray], cells: _Cells) -> int:
    """Count the degrees of freedom of a term beside all that do not contain it."""
    others = _others(term, blocks)
    return cells.rest(others)[1] - cells.rest([*others, blocks[term]])[1]


def _effect(term: tuple[str, ...], blocks: dict[tuple[str, ...], FloatArray], cells: _Cells, error: _Error) -> AnovaRow:
    others = _others(term, blocks)
    without, more = cells.rest(others)
    with_it, fewer = cells.rest([*others, blocks[term]])
    return _sized(term, more - fewer, max(without - with_it, 0.0), error)


def _sized(term: tuple[str, ...], df: int, squares: float, error: _Error) -> AnovaRow:
    """Test a sum of squares, and say how large it is."""
    f = squares / df / error.scale if df and error.scale > 0 else 0.0
    return AnovaRow(
        term=term,
        df=df,
        sum_squares=squares,
        f=f,
        p=float(f_law.sf(f, df, error.df)) if df else 1.0,
        eta2=squares / error.whole if error.whole else 0.0,
        omega2=max((squares - df * error.scale) / (error.whole + error.scale), 0.0) if error.whole else 0.0,
    )


class Share(FiniteResult):
    """Of the variance over all configurations, each equally likely."""

    setting: str
    alone: float
    """First order: explained by this setting whatever the others are; within 0 and 1."""
    total: float
    """Total order: explained by it alone and together with others; at least as large as `alone`."""


def shares(
    surface: Callable[[FloatArray], FloatArray], names: Sequence[str], seed: int, drawn: int = DRAWN
) -> tuple[Share, ...]:
    """Estimate the indices (Saltelli et al., Computer Physics Communications 181, 2010).

    `surface` takes points of shape (points, settings) between 0 and 1, uniform. Estimates can fall a little outside
    0 to 1, or alone above total: they are clipped, and 0 where nothing varies.
    """
    count = len(names)
    # scipy takes two settings or more, so a single one has another beside it, which does nothing.
    laws: Any = [uniform()] * max(count, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = sobol_indices(func=lambda points: surface(points.T[:, :count]), n=drawn, dists=laws, rng=seed)
    alone, total = (np.clip(np.nan_to_num(one), 0.0, 1.0) for one in (found.first_order, found.total_order))
    return tuple(
        Share(setting=name, alone=float(first), total=float(max(first, both)))
        for name, first, both in zip(names, alone[:count], total[:count], strict=True)
    )
