"""se: stop when the standard error of the mean is small next to it."""

from __future__ import annotations

from ..rule import OutcomesSoFar, Stopping, relative_error, stopping


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when standard error / |mean| is at most `target` (SHARP's RSE: 0.1).

    Mended: the standard error counts dependent runs for what they are worth, and a negative mean does not stop at
    once. It looks at the mean alone: it stops at its minimum on almost any program.
    """
    error = relative_error(runs.outcomes)
    if error is None:
        return stopping(runs, False, "the mean is zero or not known, so an error relative to it means nothing")
    return stopping(runs, error <= target, f"the standard error is {error:.2g} of the mean (target {target:g})")
