"""mixture: stop when a mixture of normal laws fitted to half of the runs explains the other half as well."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...values import FloatArray
from ..rule import OutcomesSoFar, Stopping, equal, stopping

MOST_COMPONENTS = 8
MOST_FITTED = 2000
"""Of more runs, evenly spaced ones are used: the likelihood a run is known well by then."""
LEAST = 20
"""SHARP's own start: fewer runs fit anything."""


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
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
