"""What the order of the runs shows: a start-up transient, drift, dependence between neighbours."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ..values import FloatArray, finite

LEAST_RUNS = 10
HEAD_SHARE = 4
"""At most one run in four can be warm-up: longer, it is the program's life and not its start."""
MOST_HEAD = 40
"""Nor are more runs than this: a level that lasts so long is the machine's drift."""
HEAD_JUMP = 5.0
"""How many robust SDs (1.4826 MAD) the first runs must stand off when only their size gives them away."""
FEW_RUNS = 40
"""With fewer, the first run is the extreme of all by luck too often: it must stand off three times as far."""
CHANGE_Z = 3.4
"""The greatest of the rank sums looked at stays below this in more than 98 of 100 samples of independent runs."""
SETTLED = 0.75
"""Share of that bar below which the halves of what follows count as one level."""
DRIFT_RHO = 0.4
DRIFT_Z = 3.3
MOST_LAG1 = 0.95
DECORRELATION = 3
LEAST_BLOCKS = 5


def warm_up_length(values: ArrayLike) -> int:
    """Count the runs at the start that are a transient: 0 unless they clearly differ from all that follows.

    Two signs: the first few runs lie beyond every later run and far off, or a change point in the ranks after which
    nothing changes any more. Dependence between neighbours raises the bar.
    """
    x = finite(values)
    if x.size < LEAST_RUNS or x.min() == x.max():
        return 0
    return max(_head_apart(x), _change_point(x))


def drifts(values: ArrayLike) -> bool:
    """Say whether the level moves with the order of the runs: a monotone trend that is plain and not small."""
    x = finite(values)
    if x.size < LEAST_RUNS or x.min() == x.max():
        return False
    rho = abs(float(np.corrcoef(rankdata(x), np.arange(x.size))[0, 1]))
    return rho >= DRIFT_RHO and rho * math.sqrt(x.size - 1) > DRIFT_Z


def lag1(values: ArrayLike) -> float | None:
    """Correlate each run with the next, on ranks, so that one wild run neither hides nor makes it."""
    x = finite(values)
    if x.size < 4 or x.min() == x.max():
        return None
    ranks = rankdata(x) - (x.size + 1) / 2
    return float((ranks[1:] * ranks[:-1]).sum() / (ranks**2).sum())


def block_length(slow_in_run_order: ArrayLike) -> int:
    """Say how many neighbouring runs must be permuted together: 1 where slowness does not come in spells.

    Three times the decorrelation time (1 + r) / (1 - r) of a first-order autoregression behind the labels (r from
    the arcsine law of its signs); at least five blocks remain, so very long spells stay a little too easy to find.
    """
    labels = finite(slow_in_run_order)
    signs = lag1(labels)
    if signs is None or signs < 1.645 / math.sqrt(labels.size):
        return 1
    r = min(math.sin(math.pi / 2 * min(signs, 1.0)), MOST_LAG1)
    return max(1, min(math.ceil(DECORRELATION * (1 + r) / (1 - r)), labels.size // LEAST_BLOCKS))


def _head_apart(x: FloatArray) -> int:
    """Longest start of which every run lies beyond all later ones, on one side and far off."""
    longest = 0
    for k in range(1, min(x.size // HEAD_SHARE, LEAST_RUNS) + 1):
        head, rest = x[:k], x[k:]
        middle = float(np.median(rest))
        far = HEAD_JUMP * 1.4826 * float(np.median(np.abs(rest - middle))) * (3 if k == 1 and x.size < FEW_RUNS else 1)
        if head.min() > max(rest.max(), middle + far) or head.max() < min(rest.min(), middle - far):
            longest = k
    return longest


def _change_point(x: FloatArray) -> int:
    """Place of the strongest shift in the first quarter, if the rest then holds its level."""
    most = min(x.size // HEAD_SHARE, MOST_HEAD)
    if most < 3:
        return 0
    k = np.arange(3, most + 1)
    z = _rank_shift(x)[k - 1]
    place = int(k[np.abs(z).argmax()])
    rest = x[place:]
    r = min(max(lag1(rest) or 0.0, 0.0), MOST_LAG1)
    bar = CHANGE_Z * math.sqrt((1 + r) / (1 - r))
    settled = abs(float(_rank_shift(rest)[rest.size // 2 - 1])) < SETTLED * bar
    return place if float(np.abs(z).max()) > bar and settled else 0


def _rank_shift(x: FloatArray) -> FloatArray:
    """Standardised rank sum of the first 1, 2, ... n - 1 runs against the others."""
    n = x.size
    ranks = rankdata(x) - (n + 1) / 2
    k = np.arange(1, n)
    spread = np.sqrt((ranks**2).mean() * k * (n - k) / (n - 1))
    if spread.min() == 0:
        return np.zeros(n - 1)
    shift: FloatArray = np.cumsum(ranks)[:-1] / spread
    return shift
