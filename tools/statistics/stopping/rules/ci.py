"""ci: stop when the confidence interval of the mean is narrow next to it."""

from __future__ import annotations

from scipy.special import stdtrit

from ..rule import OutcomesSoFar, Stopping, relative_error, stopping

LEVEL = 0.95


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when half the 95 % interval of the mean (Student's t) is at most `target` of it (SHARP's CI: 0.05).

    Mended: two-sided, where SHARP's quantile is one-sided and so 90 %; dependent runs count for what they are worth;
    a negative mean does not stop at once.
    """
    error = relative_error(runs.outcomes)
    if error is None:
        return stopping(runs, False, "the mean is zero or not known, so an interval relative to it means nothing")
    half = float(stdtrit(runs.outcomes.size - 1, 0.5 + LEVEL / 2)) * error
    return stopping(runs, half <= target, f"the mean is known within {half:.2g} of itself (target {target:g})")
