"""Where each node stands and how far its runs spread, on the log scale, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ....knowledge.errors import VgoError
from ..spread import inflation
from ..values import BoolArray, FiniteResult, FloatArray, IntArray, IntervalEstimate

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
    from scipy.stats import trim_mean  # half a second to load, which most commands can spare
    from scipy.stats.mstats import winsorize

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

    DerSimonian and Laird's variance between nodes, Hartung and Knapp's interval, Higgins, Thompson and Spiegelhalter's
    interval (2009) for a further node. By hand: statsmodels lets the variance between nodes fall below zero.
    """
    k, variances = log_ratios.size, np.maximum(errors, 1e-12) ** 2
    weights = 1 / variances
    q = _scatter(log_ratios, weights)[1]
    scale = float(weights.sum() - (weights**2).sum() / weights.sum())
    between = max((q - (k - 1)) / scale, 0.0)
    weights = 1 / (variances + between)
    mean, scatter = _scatter(log_ratios, weights)
    error = math.sqrt(scatter / (k - 1) / float(weights.sum()))
    half = float(stdtrit(k - 1, 0.975)) * error
    expected = None
    if k > 2:
        wide = float(stdtrit(k - 2, 0.975)) * math.sqrt(between + error**2)
        expected = IntervalEstimate(low=math.exp(mean - wide), high=math.exp(mean + wide))
    return Pooled(
        ratio=math.exp(mean),
        interval=IntervalEstimate(low=math.exp(mean - half), high=math.exp(mean + half)),
        expected=expected,
        heterogeneity=max(1 - (k - 1) / q, 0.0) if q else 0.0,
        nodes=k,
    )


def _scatter(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Give the weighted mean, and the weighted squares around it."""
    mean = float(np.average(values, weights=weights))
    return mean, float((weights * (values - mean) ** 2).sum())
