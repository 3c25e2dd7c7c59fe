"""What a stopping rule may look at and what it answers: one function a rule, by its name."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ..spread import autocorrelation, inflation, log_sd_interval
from ..values import FiniteResult, FloatArray, finite

TAIL_RUNS = 10
"""Runs in the slowest tenth: fewer say little about a tail."""
DRAWS = 1000
LEVEL = 0.95
FEWEST_BLOCKS = 8
MOST_COMPONENTS = 8
MOST_FITTED = 2000
"""Of more runs, evenly spaced ones are used: the likelihood a run is known well by then."""
LEAST = 20
"""SHARP's own start: fewer runs fit anything."""


class Stopping(FiniteResult):
    """Whether to stop, and why or why not, in words."""

    known: bool
    reason: str
    n: int
    factor: float | None
    """The SD is known within this factor at 95 %; None before the rule says stop, and where it is undefined."""


@dataclass(frozen=True)
class OutcomesSoFar:
    """What a rule may look at."""

    outcomes: FloatArray
    """Finite, in run order, shape (runs,)."""
    spent_s: float
    """Seconds of the user's program: an outcome may be anything else."""

    @classmethod
    def of(cls, outcomes: ArrayLike, spent_s: float | None = None) -> OutcomesSoFar:
        """Take outcomes as they come; unless told otherwise, they are seconds."""
        x = finite(outcomes)
        return cls(x, float(x.sum()) if spent_s is None else spent_s)


def stopping(runs: OutcomesSoFar, known: bool, reason: str) -> Stopping:
    """Answer for a rule, with how well the SD is known once it says stop."""
    return Stopping(
        known=known, reason=reason, n=runs.outcomes.size, factor=known_within(runs.outcomes) if known else None
    )


def known_within(outcomes: FloatArray) -> float | None:
    """Within what factor the SD is known at 95 %; None where it is not."""
    bounds = log_sd_interval(outcomes)
    return math.sqrt(bounds.high / bounds.low) if bounds else None


def relative_error(outcomes: FloatArray) -> float | None:
    """Standard error of the mean as a share of it, dependent runs counted for their worth; None at mean zero."""
    x = outcomes
    mean = abs(float(x.mean())) if x.size else 0.0
    if x.size < 2 or mean == 0:
        return None
    return float(x.std(ddof=1)) * math.sqrt(inflation(x).mean / x.size) / mean


def equal(outcomes: FloatArray) -> bool:
    """Tell whether nothing varies; false before the second run."""
    return outcomes.size > 1 and bool(np.all(outcomes == outcomes[0]))


def spread(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the 95 % interval of log SD lies within `target` and ten runs lie in the slowest tenth.

    Rules on the mean stop at their minimum and leave the SD wrong by a third or more. Runs that resemble their
    neighbours count for what they are worth (`log_sd_interval`), since the SD of a calm spell is known soon and
    wrong. What is too rare to have been seen no rule can know: the answer says how rare (rule of three).
    """
    x = runs.outcomes
    if equal(x):
        return stopping(runs, True, f"all {x.size} runs are equal")
    reached = known_within(x)
    if reached is None:
        worth = int(x.size / inflation(x).square)
        reason = "the SD is not known" + (f": {x.size} runs so alike count as {worth}" if worth < x.size else "")
        return stopping(runs, False, reason)
    if reached > target:
        return stopping(runs, False, f"the SD is known within x{reached:.2f}, not yet x{target:g}")
    tail = int((x >= np.quantile(x, 0.9)).sum())
    if tail < TAIL_RUNS:
        return stopping(runs, False, f"{tail} of {TAIL_RUNS} runs above the p90 cut")
    return stopping(
        runs,
        True,
        f"the SD is known within x{reached:.2f} and {tail} runs lie above the p90 cut; "
        f"what happens in fewer than one of {x.size // 3} runs may not have been seen",
    )


def count(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop at `target` runs: 1,000 in the paper's figures; SHARP's own default of 1 says nothing about spread."""
    n = runs.outcomes.size
    return stopping(runs, n >= target, f"{n} of {target:g} runs")


def duration(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the program has run for `target` seconds (SHARP: one minute), our own time not counted."""
    return stopping(runs, runs.spent_s >= target, f"{runs.spent_s:.3g} of {target:g} s of the program")


def se(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when standard error / |mean| is at most `target` (SHARP's RSE: 0.1).

    Mended: the standard error counts dependent runs for what they are worth, and a negative mean does not stop at
    once. It looks at the mean alone: it stops at its minimum on almost any program.
    """
    return _mean_known(runs, target, 1.0, "the standard error is {:.2g} of the mean")


def ci(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when half the 95 % interval of the mean (Student's t) is at most `target` of it (SHARP's CI: 0.05).

    Mended: two-sided, where SHARP's quantile is one-sided and so 90 %; dependent runs count for what they are worth;
    a negative mean does not stop at once.
    """
    half = float(stdtrit(runs.outcomes.size - 1, 0.5 + 0.95 / 2))
    return _mean_known(runs, target, half, "the mean is known within {:.2g} of itself")


def hdi(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the 89 % highest-density interval of the mean spans at most `target` of it (SHARP's HDI: 0.1).

    Mended: SHARP takes the interval of the runs themselves, which no number of runs narrows: it stops at once on
    steady programs and never on others. Here it is that of the mean's posterior under a flat prior, Student's t,
    whose highest-density interval is the central one.
    """
    width = 2 * float(stdtrit(runs.outcomes.size - 1, 0.5 + 0.89 / 2))
    return _mean_known(runs, target, width, "the interval of the mean spans {:.2g} of it")


def _mean_known(runs: OutcomesSoFar, target: float, errors: float, words: str) -> Stopping:
    """Stop when so many standard errors of the mean are at most `target` of it."""
    error = relative_error(runs.outcomes)
    if error is None:
        return stopping(runs, False, "the mean is zero or not known, so an error relative to it means nothing")
    reached = errors * error
    return stopping(runs, reached <= target, f"{words.format(reached)} (target {target:g})")


def ks(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the Kolmogorov-Smirnov distance between first and second half is at most `target` (SHARP's KS: 0.1).

    Mended: each run counts once, where SHARP stores it twice after the fifth and then compares halves that overlap.
    It is blind to tails, which move the distance little.
    """
    x = runs.outcomes
    if x.size < 2:
        return stopping(runs, False, "two runs at least make two halves")
    from scipy.stats import ks_2samp  # half a second to load, which most commands can spare

    half = x.size // 2
    distance = float(ks_2samp(x[:half], x[half:], method="asymp").statistic)
    return stopping(runs, distance <= target, f"the halves are {distance:.2g} apart (target {target:g})")


def bayesian_bootstrap(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the 95 % interval of the mean lies within `target` of it (SHARP's BB: 0.03, 1,000 draws).

    Bayesian bootstrap (Rubin 1981) of blocks, as in "Performance testing for cloud computing with dependent data
    bootstrapping" (ASE 2021). Mended: the block ends where the correlation falls into its noise, 2 / sqrt(n), not
    below .01, which chance alone decides; the mean is compared with its own interval, not with the one of the look
    before, so that frequent looks do not make it look settled; the draws are the same at every call.
    """
    x = runs.outcomes
    if equal(x):
        return stopping(runs, True, f"all {x.size} runs are equal")
    length = _block(x) if x.size > 1 else 1
    if x.size < FEWEST_BLOCKS * length:
        return stopping(runs, False, f"{x.size} runs are fewer than {FEWEST_BLOCKS} blocks of {length}")
    mean = abs(float(x.mean()))
    if mean == 0:
        return stopping(runs, False, "the mean is zero, so an interval relative to it means nothing")
    low, high = np.quantile(_means(x, length), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    half = float(high - low) / 2 / mean
    return stopping(runs, half <= target, f"the mean is known within {half:.2g} of itself (target {target:g})")


def _block(x: FloatArray) -> int:
    """First lag at which runs no longer resemble each other."""
    below = np.flatnonzero(np.abs(autocorrelation(x)) < 2 / math.sqrt(x.size))
    return max(int(below[0]), 1) if below.size else x.size


def _means(x: FloatArray, length: int) -> FloatArray:
    """Means under Dirichlet weights of the blocks; the last block takes what is left over, at its share."""
    starts = np.arange(x.size // length) * length
    sums = np.add.reduceat(x, starts)
    sizes = np.diff([*starts, x.size])
    weights = np.random.default_rng(0).standard_exponential((DRAWS, starts.size))
    means: FloatArray = (weights @ sums) / (weights @ sizes)
    return means


def mixture(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the likelihood has settled: a fit to every other run loses at most `target` nats a run on the rest.

    Mended: SHARP compares the log-density itself with a constant (2), which depends on the unit: the same runs stop
    it at 100 in seconds and at 33 in milliseconds. A loss is free of units and falls as (parameters) / n. At most
    eight components, as in SHARP, as many as the BIC takes.
    """
    x = runs.outcomes
    if equal(x):
        return stopping(runs, True, f"all {x.size} runs are equal")
    if x.size < LEAST:
        return stopping(runs, False, f"{x.size} of at least {LEAST} runs")
    loss = _loss(x[:: -(-x.size // MOST_FITTED)])
    return stopping(
        runs, loss <= target, f"a fit to half of the runs costs the rest {loss:.2g} nats (target {target:g})"
    )


def _loss(x: FloatArray) -> float:
    """Mean loss a run, each half explained by the fit of the other; infinite where a half is constant."""
    values = ((x - np.median(x)) / (x.max() - x.min()))[:, None]
    halves = values[::2], values[1::2]
    if any(np.ptp(half) == 0 for half in halves):
        return float("inf")
    fits = tuple(_best(half) for half in halves)
    losses = (own.score(half) - other.score(half) for half, own, other in zip(halves, fits, fits[::-1], strict=True))
    return max(float(sum(losses)) / 2, 0.0)


def _best(half: FloatArray) -> Any:
    """Add components while the BIC falls."""
    from sklearn.exceptions import ConvergenceWarning  # costs most of a second, which only this rule should pay
    from sklearn.mixture import GaussianMixture

    best, least = None, float("inf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for components in range(1, MOST_COMPONENTS + 1):
            fit = GaussianMixture(components, covariance_type="diag", random_state=0).fit(half)
            bic = fit.bic(half)
            if bic >= least:
                break
            best, least = fit, bic
    return best
