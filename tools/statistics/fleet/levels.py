"""Where each node stands and how far its runs spread, on the log scale, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import trim_mean
from scipy.stats.mstats import winsorize

from ....knowledge.errors import VgoError
from ..dependence import inflation
from ..values import FloatArray, IntArray

TRIMMED = 0.1
"""Share of the runs of a node left out at each end: a few far-out runs say nothing of where a node stands."""
LEAST_RUNS = 5
"""A node with fewer runs has no standard error worth its name."""


class NodeEstimates(NamedTuple):
    """Arrays of shape (nodes,), nodes in the order of their names."""

    names: tuple[str, ...]
    runs: IntArray
    location: FloatArray
    """Trimmed mean of log outcome."""
    location_error: FloatArray
    spread: FloatArray
    """Log of the mean absolute deviation of log outcome from its median; NaN where nothing varies."""
    spread_error: FloatArray


def levels(outcome: FloatArray, codes: IntArray, names: Sequence[str], *, ordered: bool = True) -> NodeEstimates:
    """Describe each node from the outcomes (runs,) in run order and the number of the node of each run (runs,).

    Raises VgoError for outcomes at or below 0, and for a node with fewer than five runs.
    """
    if outcome.min() <= 0:
        raise VgoError("Nodes are compared by ratios, and some outcomes are at or below 0: name a time or a rate.")
    order = np.argsort(codes, kind="stable")
    parts = np.split(np.log(outcome)[order], np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
    for name, part in zip(names, parts, strict=True):
        if part.size < LEAST_RUNS:
            raise VgoError(f"{name} has {part.size} runs, and a node needs {LEAST_RUNS}: run it more, or leave it out.")
    rows = [(*_location(part, ordered), *_spread(part, ordered)) for part in parts]
    location, location_error, spread, spread_error = np.array(rows).T
    runs = np.array([part.size for part in parts], dtype=np.int64)
    return NodeEstimates(tuple(names), runs, location, location_error, spread, spread_error)


def _location(logs: FloatArray, ordered: bool) -> tuple[float, float]:
    """Trimmed mean and its error, winsorised SD / ((1 - 2 g) sqrt n): Tukey and McLaughlin 1963."""
    cut = int(TRIMMED * logs.size)
    kept = np.asarray(winsorize(logs, (cut / logs.size, cut / logs.size)))
    error = float(kept.std(ddof=1)) / ((1 - 2 * cut / logs.size) * math.sqrt(logs.size))
    return float(trim_mean(logs, cut / logs.size)), error * math.sqrt(inflation(logs, ordered).mean)


def _spread(logs: FloatArray, ordered: bool) -> tuple[float, float]:
    """Log mean absolute deviation and its error by the delta method."""
    distance = np.abs(logs - np.median(logs))
    mean = float(distance.mean())
    if mean == 0:
        return math.nan, math.nan
    error = float(distance.std(ddof=1)) / (mean * math.sqrt(logs.size))
    return math.log(mean), error * math.sqrt(inflation(logs, ordered).square)
