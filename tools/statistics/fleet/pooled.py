"""One effect from the effects on many nodes: each is compared within its node, then they are pooled."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as student

from ..values import FiniteResult, FloatArray, IntervalEstimate


class Pooled(FiniteResult):
    """A ratio over all nodes."""

    ratio: float
    interval: IntervalEstimate
    """95 %, of the mean ratio: Hartung and Knapp 2001."""
    expected: IntervalEstimate | None
    """95 %, of the ratio on a further node; None with fewer than three nodes."""
    heterogeneity: float
    """Share of the variance of the ratios that is more than their errors (I squared)."""
    nodes: int


def pooled(log_ratios: FloatArray, errors: FloatArray) -> Pooled:
    """Pool log ratios of nodes (nodes,), at least two, with their standard errors (nodes,), as random effects.

    DerSimonian and Laird's variance between nodes, Hartung and Knapp's interval (statsmodels' combine_effects),
    Higgins, Thompson and Spiegelhalter's interval (2009) for a further node.
    """
    from statsmodels.stats.meta_analysis import combine_effects  # most who import us have one host

    found = combine_effects(log_ratios, np.maximum(errors, 1e-12) ** 2, method_re="dl", use_t=True)
    k = log_ratios.size
    mean, error = float(found.mean_effect_re), float(found.sd_eff_w_re_hksj)
    half = float(student.ppf(0.975, k - 1)) * error
    between = max(float(found.tau2), 0.0)
    expected = None
    if k > 2:
        wide = float(student.ppf(0.975, k - 2)) * math.sqrt(between + error**2)
        expected = IntervalEstimate(low=math.exp(mean - wide), high=math.exp(mean + wide))
    return Pooled(
        ratio=math.exp(mean),
        interval=IntervalEstimate(low=math.exp(mean - half), high=math.exp(mean + half)),
        expected=expected,
        heterogeneity=min(max(float(found.i2), 0.0), 1.0),
        nodes=k,
    )
