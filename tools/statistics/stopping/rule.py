"""What a stopping rule may look at and what it answers, and after which runs it is asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..spread import inflation, log_sd_interval
from ..values import FiniteResult, FloatArray, finite
from .rules import StoppingRule


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


def looks(rule: StoppingRule, minimum: int) -> Iterator[int]:
    """After how many runs to ask a rule: at the minimum, then after 10 % more each time, so that luck stops little."""
    n = minimum
    while True:
        yield n
        n += 1 if rule.at_every_run else max(1, math.ceil(n / 10))


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
