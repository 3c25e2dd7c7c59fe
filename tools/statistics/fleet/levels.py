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
RESAMPLES = 999
FEW = 6
"""With fewer nodes nobody can tell from them how much ordinary nodes differ: they are taken to be alike."""
APART = 3.0
"""Among few nodes an odd one must lie this many times as far from the others as they lie from each other."""
FLEETS = 1999
"""Fleets of ordinary nodes that are simulated: the least p-value is 1 / 2000."""
LEAVE_OUT = 20
"""Up to so many nodes each is held against the others without it; one more or less in a median of more is nothing."""
NORMAL_MAD = 1.4826
SMALL_MAD = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
"""What a MAD of few values is short of: Croux and Rousseeuw 1992, "Time-efficient algorithms for two robust..."."""


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


class NodeDeviation(FiniteResult):
    """How one node compares with the fleet."""

    ratio: float
    """To the median node."""
    interval: IntervalEstimate
    """Simultaneous over all nodes, as far as runs tell."""
    p_value: float | None
    """Adjusted for all nodes, for speed and spread together; None with two nodes."""
    odd: bool


class Odd(NamedTuple):
    """Arrays of shape (nodes,)."""

    deviation: FloatArray
    """From the median of the nodes, on the scale that was given."""
    low: FloatArray
    """Simultaneous 1 - alpha interval of the deviation, as far as runs tell."""
    high: FloatArray
    p_value: FloatArray
    """Adjusted for all nodes; NaN with two nodes, of which none is the odd one, and among few for all that are not
    apart from the others."""
    odd: BoolArray
    between_sd: float
    """Of ordinary nodes, robust, without the error of their estimates."""
    alike: bool
    """Nodes were taken to be alike, since there are few."""

    def of(self, place: int) -> NodeDeviation:
        """Describe one node, whose estimate is a logarithm; its p-value pays for both speed and spread."""
        p_value = float(self.p_value[place])
        return NodeDeviation(
            ratio=math.exp(self.deviation[place]),
            interval=IntervalEstimate(low=math.exp(self.low[place]), high=math.exp(self.high[place])),
            p_value=None if math.isnan(p_value) else min(2 * p_value, 1.0),
            odd=bool(self.odd[place]),
        )


def odd(
    estimates: FloatArray, errors: FloatArray, runs: IntArray, *, margin: float, alpha: float = 0.05, seed: int = 1
) -> Odd:
    """Find the nodes that lie further from the others than ordinary nodes of the same number ever do.

    `estimates`, `errors`, `runs`: shape (nodes,). `margin`: the least deviation that matters. The statistic of a node
    is its distance from the median of the others over the robust SD of the others (which holds the error of their
    estimates already), widened where its own error is greater than theirs. Its adjusted p-value is the share of
    simulated fleets of normal ordinary nodes whose greatest statistic is as great (single-step maxT: Westfall and Young
    1993). Fewer than six nodes are taken to be alike but for the error of estimates, and an odd one must besides lie
    three times as far off as the others from each other.
    """
    k = estimates.size
    centre = float(np.median(estimates))
    alike = k < FEW
    between = 0.0 if alike else _between(estimates, errors)
    low, high = _interval(estimates - centre, errors, runs, between, alpha)
    p_value = np.full(k, math.nan)
    if k > 2:
        rng = np.random.default_rng(seed)
        greatest = _statistics(*_fleets(errors, runs, between, rng), alike).max(axis=1)
        seen = _statistics(estimates[None, :], errors[None, :], alike)[0]
        p_value = (1 + (greatest[None, :] >= seen[:, None]).sum(axis=1)) / (FLEETS + 1)
    if alike:
        p_value[~_apart(estimates)] = math.nan
    found = (p_value <= alpha) & (np.abs(estimates - centre) >= margin)
    return Odd(estimates - centre, low, high, p_value, found, between, alike)


def _between(estimates: FloatArray, errors: FloatArray) -> float:
    """Robust SD of nodes, less what the error of estimates makes of it."""
    mad = NORMAL_MAD * _enough(estimates.size) * float(np.median(np.abs(estimates - np.median(estimates))))
    return math.sqrt(max(mad**2 - float(np.median(errors**2)), 0.0))


def _enough(size: int) -> float:
    return SMALL_MAD.get(size, size / (size - 0.8))


def _fleets(
    errors: FloatArray, runs: IntArray, between: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw fleets of ordinary nodes: estimates and errors, shape (fleets, nodes)."""
    shape = (FLEETS, errors.size)
    estimates = rng.standard_normal(shape) * np.sqrt(between**2 + errors**2)
    freedom = np.maximum(runs - 1, 1)
    return estimates, errors * np.sqrt(rng.chisquare(freedom, shape) / freedom)


def _statistics(estimates: FloatArray, errors: FloatArray, alike: bool) -> FloatArray:
    """Distance of each node from the others in units of what ordinary ones differ, shape (fleets, nodes)."""
    k = estimates.shape[1]
    if k > LEAVE_OUT:
        return _against(estimates, errors, estimates, errors, alike)
    found = np.empty_like(estimates)
    for place in range(k):
        others = np.arange(k) != place
        own = estimates[:, [place]], errors[:, [place]]
        found[:, [place]] = _against(*own, estimates[:, others], errors[:, others], alike)
    return found


def _against(
    estimates: FloatArray, errors: FloatArray, others: FloatArray, their_errors: FloatArray, alike: bool
) -> FloatArray:
    centre = np.median(others, axis=1, keepdims=True)
    noise = np.median(their_errors**2, axis=1, keepdims=True)
    if alike:
        variance = errors**2 + noise * math.pi / 2 / others.shape[1]
    else:
        mad = NORMAL_MAD * _enough(others.shape[1]) * np.median(np.abs(others - centre), axis=1, keepdims=True)
        variance = mad**2 + np.maximum(errors**2 - noise, 0.0)
    distance: FloatArray = np.abs(estimates - centre) / np.sqrt(np.maximum(variance, 1e-300))
    return distance


def _apart(estimates: FloatArray) -> BoolArray:
    """Tell for each of few nodes whether it stands apart from others that stand together."""
    found = np.zeros(estimates.size, dtype=np.bool_)
    for place in range(estimates.size):
        others = np.delete(estimates, place)
        found[place] = abs(estimates[place] - np.median(others)) >= APART * np.ptp(others)
    return found


def _interval(
    deviation: FloatArray, errors: FloatArray, runs: IntArray, between: float, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Bonferroni over nodes by Student's t; the median of the nodes has an error too."""
    k = deviation.size
    centre = math.pi / 2 * (between**2 + float(np.median(errors**2))) / k
    half = stdtrit(np.maximum(runs - 1, 1), 1 - alpha / (2 * k)) * np.sqrt(errors**2 + centre)
    return deviation - half, deviation + half
