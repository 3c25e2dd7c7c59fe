"""How much of the variance of log outcome lies between nodes: a mixed model with a random intercept for each node."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.linalg import LinAlgError
from scipy.special import fdtri

from ..values import ColumnCorrelation, FiniteResult, FloatArray, IntArray, IntervalEstimate, centred_ranks, number

LEAST_NODES = 6
"""With fewer, no order of nodes is rarer than one in twenty once it is paid for."""
PERMUTATIONS = 1999
FAR = 5.0
"""Robust SDs of the other nodes beyond which a column of an odd node is worth naming."""
MOST_NAMED = 6


class Shares(FiniteResult):
    """Of the variance of log outcome."""

    between: float
    """Share that lies between nodes (intraclass correlation)."""
    interval: IntervalEstimate
    """95 %, of that share."""
    between_sd: float
    """SD of nodes, as a ratio less one: 0.05 says that nodes differ by about 5 %."""
    within_sd: float
    """SD of the runs of a node, as a ratio less one."""
    method: str


def shares(outcome: FloatArray, codes: IntArray) -> Shares:
    """Split the variance of log outcome (runs,) into between and within nodes (codes: (runs,), at least two nodes).

    By REML (statsmodels MixedLM); where it finds no maximum inside, by the analysis of variance. The interval is
    that of Thomas and Hultquist (1978) on the means of nodes, exact for equal numbers of runs and normal parts.
    """
    logs = np.log(outcome)
    within, between, interval = _anova(logs, codes)
    method = "analysis of variance"
    fitted = _reml(logs, codes, between, within)
    if fitted is not None:
        (between, within), method = fitted, "REML"
    total = between + within
    return Shares(
        between=between / total if total else 0.0,
        interval=interval,
        between_sd=float(np.expm1(np.sqrt(between))),
        within_sd=float(np.expm1(np.sqrt(within))),
        method=method,
    )


def _reml(logs: FloatArray, codes: IntArray, between: float, within: float) -> tuple[float, float] | None:
    """Start at the analysis of variance: from statsmodels' own start many runs end where they began."""
    if within == 0:
        return None
    from statsmodels.regression.mixed_linear_model import MixedLM, MixedLMParams  # most who import us have one host

    scale = math.sqrt(within)
    start = MixedLMParams.from_components(fe_params=np.zeros(1), cov_re=np.array([[max(between / within, 1e-6)]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a share of nothing lies on the boundary, which statsmodels warns of
        try:
            model = MixedLM((logs - logs.mean()) / scale, np.ones((logs.size, 1)), codes)
            fit = model.fit(start_params=start, reml=True, method="bfgs")
        except (LinAlgError, ValueError):
            return None
    found = max(float(fit.cov_re[0, 0]), 0.0) * within, float(fit.scale) * within
    return found if fit.converged and np.isfinite(found).all() else None


def _anova(logs: FloatArray, codes: IntArray) -> tuple[float, float, IntervalEstimate]:
    """Variance within and between, and the interval of the share, from the unweighted means of nodes."""
    sizes = np.bincount(codes)
    means = np.bincount(codes, weights=logs) / sizes
    k, n = sizes.size, logs.size
    within = float(((logs - means[codes]) ** 2).sum()) / max(n - k, 1)
    usual = k / float((1 / sizes).sum())
    of_means = float(means.var(ddof=1))
    if within == 0:
        share = float(of_means > 0)
        return 0.0, of_means, IntervalEstimate(low=share, high=share)
    ratio = usual * of_means / within
    low, high = (_share(ratio / float(fdtri(k - 1, max(n - k, 1), level)), usual) for level in (0.975, 0.025))
    return within, max(of_means - within / usual, 0.0), IntervalEstimate(low=low, high=high)


def _share(ratio: float, usual: float) -> float:
    return min(max((ratio - 1) / (ratio - 1 + usual), 0.0), 1.0)


class NodeDifference(FiniteResult):
    """A column in which an odd node stands out."""

    name: str
    here: float
    """Median on the node."""
    elsewhere: float
    """Median of the medians of the other nodes."""
    distance: float | None
    """In robust SDs of the other nodes and of the runs of a node; None: the others never vary."""


def medians(values: FloatArray, codes: IntArray, nodes: int) -> FloatArray:
    """Median of each column (runs, columns) on each node, shape (nodes, columns)."""
    return np.array([np.median(values[codes == node], axis=0) for node in range(nodes)])


def between(
    of_nodes: FloatArray, location: FloatArray, names: Sequence[str], *, seed: int = 1
) -> tuple[ColumnCorrelation, ...]:
    """Rank columns by how their node medians (nodes, columns) follow the level of nodes (nodes,); () for few nodes.

    Spearman's correlation; p-values by the greatest over all columns under permuted nodes (maxT).
    """
    if location.size < LEAST_NODES or not names:
        return ()
    columns, level = _scores(of_nodes), _scores(location[:, None])[:, 0]
    seen = level @ columns
    rng = np.random.default_rng(seed)
    greatest = np.array([np.abs(rng.permutation(level) @ columns).max() for _ in range(PERMUTATIONS)])
    p_values = (1 + (greatest[:, None] >= np.abs(seen)[None, :] - 1e-12).sum(axis=0)) / (PERMUTATIONS + 1)
    found = [
        ColumnCorrelation(name=name, correlation=r, p_value=p) for name, r, p in zip(names, seen, p_values, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: -abs(one.correlation)))


def _scores(values: FloatArray) -> FloatArray:
    """Ranks of each column, centred and of length 1; zeros where nothing varies."""
    ranks = centred_ranks(values) / 2
    length = np.sqrt((ranks**2).sum(axis=0))
    scores: FloatArray = np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)
    return scores


def differs(
    values: FloatArray, codes: IntArray, of_nodes: FloatArray, node: int, names: Sequence[str]
) -> tuple[NodeDifference, ...]:
    """Name the columns in which a node is furthest from the others, the furthest first.

    Distance: from the median of the other nodes, over 1.4826 MAD of those nodes and of their runs about them, the
    greater of both; a column that is the same in all other runs and not here has an infinite one.
    """
    others = np.delete(of_nodes, node, axis=0)
    centre = np.median(others, axis=0)
    elsewhere = codes != node
    noise = 1.4826 * np.median(np.abs(values[elsewhere] - of_nodes[codes[elsewhere]]), axis=0)
    scale = np.maximum(1.4826 * np.median(np.abs(others - centre), axis=0), noise)
    away = np.abs(of_nodes[node] - centre)
    distance = np.divide(away, scale, out=np.where(away > 0, np.inf, 0.0), where=scale > 0)
    order = np.lexsort((-away, -distance))
    return tuple(
        NodeDifference(
            name=names[place], here=of_nodes[node, place], elsewhere=centre[place], distance=number(distance[place])
        )
        for place in order[:MOST_NAMED]
        if distance[place] >= FAR
    )
