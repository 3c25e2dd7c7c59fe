"""How much of the variance of log outcome lies between nodes: a mixed model with a random intercept for each node."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.linalg import LinAlgError
from scipy.stats import f as fisher

from ..values import FiniteResult, FloatArray, IntArray, IntervalEstimate


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
    low, high = (_share(ratio / float(fisher.ppf(level, k - 1, max(n - k, 1))), usual) for level in (0.975, 0.025))
    return within, max(of_means - within / usual, 0.0), IntervalEstimate(low=low, high=high)


def _share(ratio: float, usual: float) -> float:
    return min(max((ratio - 1) / (ratio - 1 + usual), 0.0), 1.0)
