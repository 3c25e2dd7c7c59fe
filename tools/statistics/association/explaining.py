"""What makes a ranking worth reading beside its p-values: importance, stability, intervals, several factors at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.special import betaincinv

from ..values import LEAST_IN_CLASS, BoolArray, FloatArray, IntArray, IntervalEstimate, eta_squared, r_squared, ranks_of
from .columns import Collinear, Columns, FactorAssociation
from .importance import Importance, importance, stability
from .interactions import alone
from .look import Looked
from .permutation import LEAST_LENGTH, NOTHING_LEFT, Labels, RankedVectors, restrict, unit
from .search import search

MOST = 12
"""Factors that are looked at; what ranks behind them stays undecided."""
DRAWS = 1000
LEAST_RUNS = 50
NEW = 0.02
"""Share of a column's ranks that the stronger factors must leave unexplained, or it adds nothing."""
FEW_VALUES = 50
"""A setting with at most so many values is a grouping of the runs."""
Z = 1.959964
CLEAR = 4.0
"""Runs of the smaller class on the wrong side, in effect, from which a normal approximation holds."""
UNSEEN = Importance(None, None, None)


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


def accounted(
    ranked: RankedVectors, labels: Labels, columns: Sequence[int], values: Callable[[int], FloatArray]
) -> tuple[RankedVectors, Labels]:
    """Take out of all ranks, and of the labels, what these columns explain; vectors of which little is left are zero.

    `values` gives a column as it was measured, shape (runs,).
    """
    basis = labels.basis
    for column in columns:
        vectors = np.asarray(ranked.vectors[:, np.unique(ranked.places[:, [column]])], dtype=np.float64)
        basis = _widened(basis, _terms(vectors, values(column), labels))
    left = np.asarray(ranked.vectors - basis @ (basis.T @ ranked.vectors), dtype=np.float64)
    left[:, (left**2).sum(axis=0) <= NEW] = 0
    residual = labels.residual - basis @ (basis.T @ labels.residual)
    return replace(ranked, vectors=unit(left)), replace(labels, residual=residual, basis=basis)


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


def effect(
    cluster: Collinear, columns: Columns, values: FloatArray, classes: IntArray, outcome: FloatArray
) -> dict[str, Any]:
    """Describe a cluster by the values of the column that speaks for it."""
    middle = np.mean if cluster.name in columns.groups else np.median
    role: Literal["factor", "setting"] = "setting" if is_setting(cluster, columns) else "factor"
    worst, best = classes == classes.max(initial=0), classes == 0
    facts: dict[str, Any] = {
        "name": cluster.name,
        "column": cluster.speaker,
        "members": cluster.members,
        "role": role,
        "r2": r_squared(values, outcome),
        "slow_median": float(middle(values[worst])),
        "fast_median": float(middle(values[best])),
    }
    return facts | (_between(cluster, columns, outcome) if role == "setting" else {})


def is_setting(cluster: Collinear, columns: Columns) -> bool:
    """Whether a cluster was varied on purpose: an indicator of a setting, or a setting among its members."""
    return cluster.name in columns.groups or not columns.settings.isdisjoint({cluster.name, *cluster.members})


def _between(cluster: Collinear, columns: Columns, outcome: FloatArray) -> dict[str, float | None]:
    """Share of the outcome's variance between the values of a setting."""
    places = [columns.names.index(member) for member in cluster.members]
    table = columns.values[:, places if cluster.name in columns.groups else [columns.names.index(cluster.speaker)]]
    values, groups = np.unique(table, axis=0, return_inverse=True)
    if cluster.name not in columns.groups and len(values) > FEW_VALUES:
        return {}
    groups = groups.ravel().astype(np.int64)
    positive: BoolArray = outcome > 0
    return {
        "eta2": eta_squared(groups, outcome),
        "eta2_log": eta_squared(groups, np.log(outcome)) if positive.all() else None,
    }


def auc_interval(column: FloatArray, classes: IntArray, auc: float) -> IntervalEstimate | None:
    """Interval for independent runs of two classes; None for more classes or fewer than five runs in one.

    On the logit scale with the variance of DeLong et al. (1988). Where the classes hardly overlap, that is too short:
    then it is joined with that of Hanley and McNeil (1982) solved for the bound as Wilson did for a share (Newcombe
    2006, method 5), and with Clopper's and Pearson's for a share of the smaller class.
    """
    sizes = np.bincount(classes)
    if sizes.size != 2 or sizes.min() < LEAST_IN_CLASS:
        return None
    slow, fast = int(sizes[1]), int(sizes[0])
    normal = delong(column, classes, auc) if 0 < auc < 1 else None
    if normal and min(auc, 1 - auc) * min(slow, fast) >= CLEAR:
        return normal
    wide = [_newcombe(auc, slow, fast), _clopper_pearson(auc, min(slow, fast)), *([normal] if normal else [])]
    return IntervalEstimate(low=min(each.low for each in wide), high=max(each.high for each in wide))


def delong(column: FloatArray, classes: IntArray, auc: float) -> IntervalEstimate:
    """Interval on the logit scale; `auc` strictly between 0 and 1."""
    slow = classes == 1
    n1, n0 = int(slow.sum()), int((~slow).sum())
    whole = ranks_of(column)
    above = (whole[slow] - ranks_of(column[slow])) / (2 * n0)
    below = (whole[~slow] - ranks_of(column[~slow])) / (2 * n1)
    error = math.sqrt(above.var(ddof=1) / n1 + below.var(ddof=1) / n0)
    logit, step = math.log(auc / (1 - auc)), Z * error / (auc * (1 - auc))
    return IntervalEstimate(low=1 / (1 + math.exp(min(step - logit, 700))), high=1 / (1 + math.exp(-logit - step)))


def _newcombe(auc: float, slow: int, fast: int) -> IntervalEstimate:
    """Bounds from which the AUC is just 1.96 of their own standard errors away."""

    def off(bound: float) -> float:
        return abs(auc - bound) - Z * math.sqrt(_variance(bound, slow, fast))

    from scipy.optimize import brentq  # a fifth of a second to load, which who ranks nothing can spare

    low = float(brentq(off, 0.0, auc)) if auc > 0 else 0.0
    high = float(brentq(off, auc, 1.0)) if auc < 1 else 1.0
    return IntervalEstimate(low=low, high=high)


def _variance(auc: float, slow: int, fast: int) -> float:
    """Hanley and McNeil's, with the mean size for both classes."""
    middle = (slow + fast) / 2 - 1
    return auc * (1 - auc) * (1 + middle * ((1 - auc) / (2 - auc) + auc / (1 + auc))) / (slow * fast)


def _clopper_pearson(share: float, runs: int) -> IntervalEstimate:
    right = share * runs
    low = float(betaincinv(right, runs - right + 1, 0.025)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, runs - right, 0.975)) if right < runs else 1.0
    return IntervalEstimate(low=low, high=high)


def explained(
    looked: Looked, factors: Sequence[FactorAssociation], rows: IntArray, alpha: float, seed: int
) -> list[FactorAssociation]:
    """Complete the factors from the runs in `rows`, and put the more important of equally sure ones first."""
    clusters = [[looked.place_of[name] for name in factor.members] for factor in factors]
    ranked, labels = restrict(looked.ranked, looked.labels, rows)
    classes, block = looked.classes[rows], looked.labels.block
    shown = [place for place, factor in enumerate(factors) if factor.visible]
    groups = [place for place, factor in enumerate(factors) if factor.name in looked.columns.groups]
    # What tells most goes first, else it would be judged beside what only tells part of it.
    strongest = sorted(shown, key=lambda place: (factors[place].role != "setting", -abs(factors[place].auc - 0.5)))
    asked = [clusters[place] if place in groups else [looked.place_of[factors[place].column]] for place in strongest]
    own = independent(ranked, labels, asked, lambda place: looked.columns.values[rows, looked.kept[place]], alpha, seed)
    alone = dict(zip(strongest, own, strict=True))
    # A consequence that passed the sift by luck parts the classes as well as its cause: trees do not see shadows.
    seen = [place for place in shown if alone[place] is not False] or list(range(len(factors)))
    weighed = _importance(looked, [clusters[place] for place in seen], rows, seed)
    weights = {**dict.fromkeys(range(len(factors)), UNSEEN), **dict(zip(seen, weighed, strict=True))}
    steady = stability(ranked, labels, classes, clusters, seed, groups)

    def convincing(place: int) -> tuple[bool, bool, bool, float, float]:
        # What was set comes before what it moves, and what tells nothing beside another comes last.
        one = factors[place]
        shadow = alone.get(place) is False
        return not one.visible, one.role != "setting", shadow, one.p_value, -(weights[place].mean or 0.0)

    order = sorted(range(len(factors)), key=convincing)
    return [
        factors[place].model_copy(
            update={
                "importance": weights[place].mean,
                "importance_low": weights[place].low if block == 1 else None,
                "importance_high": weights[place].high if block == 1 else None,
                "stability": steady[place],
                "independent": alone.get(place),
                **_interval(looked, factors[place], looked.place_of[factors[place].column]),
            }
        )
        for place in order
    ]


def _importance(looked: Looked, clusters: list[list[int]], rows: IntArray, seed: int) -> list[Importance]:
    """Of clusters of kept columns; what is in none of them is out of the trees' sight."""
    if not clusters:
        return []
    used = sorted(place for cluster in clusters for place in cluster)
    inside = [np.searchsorted(used, cluster).tolist() for cluster in clusters]
    values = looked.columns.values[np.ix_(rows, looked.kept[used])]
    return importance(values, looked.classes[rows], inside, seed, block=looked.labels.block)


def _interval(looked: Looked, factor: FactorAssociation, column: int) -> dict[str, float]:
    if looked.labels.block > 1:
        return {}
    found = auc_interval(looked.columns.values[:, looked.kept[column]], looked.classes, factor.auc)
    return {} if found is None else {"auc_low": found.low, "auc_high": found.high}
