"""What taking nodes out would do to the spread of all runs."""

from __future__ import annotations

import numpy as np

from ..values import BoolArray, FiniteResult, FloatArray, IntArray, IntervalEstimate

RESAMPLES = 999


class Drained(FiniteResult):
    """All runs without some nodes, over all runs."""

    sd_ratio: float
    sd_interval: IntervalEstimate
    """95 %, by a bootstrap of the runs within each node."""
    mean_ratio: float
    runs_left: int


def drained(outcome: FloatArray, codes: IntArray, out: BoolArray, *, seed: int = 1) -> Drained:
    """Compare the runs (runs,) of all nodes with those of the nodes that are not `out` (nodes,)."""
    rng = np.random.default_rng(seed)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=out.size)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    sorted_outcome, stays = outcome[order], ~out[codes[order]]
    ratios = np.empty(RESAMPLES)
    for place in range(RESAMPLES):
        drawn = sorted_outcome[starts + (rng.random(outcome.size) * np.repeat(sizes, sizes)).astype(np.int64)]
        ratios[place] = _ratio(drawn, stays)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return Drained(
        sd_ratio=_ratio(sorted_outcome, stays),
        sd_interval=IntervalEstimate(low=float(low), high=float(high)),
        mean_ratio=float(sorted_outcome[stays].mean() / outcome.mean()),
        runs_left=int(stays.sum()),
    )


def _ratio(outcome: FloatArray, stays: BoolArray) -> float:
    whole = float(outcome.std(ddof=1))
    return float(outcome[stays].std(ddof=1)) / whole if whole else 1.0
