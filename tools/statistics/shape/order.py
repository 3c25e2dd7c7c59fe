"""What the order of the runs shows: a start-up transient, dependence between neighbours."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ..values import FloatArray, finite
from .change_points import shifts

LEAST_RUNS = 10
HEAD_SHARE = 4
"""At most one run in four can be warm-up: longer, it is the program's life and not its start."""
MOST_HEAD = 40
"""Nor are more runs than this: a level that lasts so long is the machine's drift."""
HEAD_JUMP = 5.0
"""How many robust SDs (1.4826 MAD) the first runs must stand off when only their size gives them away."""
FEW_RUNS = 40
"""With fewer, the first run is the extreme of all by luck too often: it must stand off three times as far."""
MOST_LAG1 = 0.95
DECORRELATION = 3
LEAST_BLOCKS = 5


def warm_up_length(values: ArrayLike, places: list[int] | None = None) -> int:
    """Count the runs at the start that are a transient: 0 unless they clearly differ from all that follows.

    Two signs: the first few runs lie beyond every later run and far off, or the level shifts (`places`, if known)
    at the start and never again. Of 100 runs whose first 10 take longer, by two SDs, the shift is found in 94 %.
    """
    x = finite(values)
    if x.size < LEAST_RUNS or x.min() == x.max():
        return 0
    found = shifts(x) if places is None else places
    settled = found[-1] if found and found[-1] <= min(x.size // HEAD_SHARE, MOST_HEAD) else 0
    return max(_head_apart(x), settled)


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
