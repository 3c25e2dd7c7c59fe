"""bayesian-bootstrap: stop when the posterior of the mean, from whole blocks of runs, is narrow next to it."""

from __future__ import annotations

import math

import numpy as np

from ...spread import autocorrelation
from ...values import FloatArray
from ..rule import OutcomesSoFar, Stopping, equal, stopping

DRAWS = 1000
LEVEL = 0.95
FEWEST_BLOCKS = 8


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
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
