"""A 95 % interval for an AUC."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv

from ..ranks import ranks_of
from ..values import FloatArray, IntArray, IntervalEstimate

Z = 1.959964
LEAST_IN_CLASS = 5
CLEAR = 4.0
"""Runs of the smaller class on the wrong side, in effect, from which a normal approximation holds."""


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
