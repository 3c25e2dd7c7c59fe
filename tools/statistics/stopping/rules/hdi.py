"""hdi: stop when the highest-density interval of the mean is narrow next to it."""

from __future__ import annotations

from scipy.special import stdtrit

from ..rule import OutcomesSoFar, Stopping, relative_error, stopping

LEVEL = 0.89


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the 89 % highest-density interval of the mean spans at most `target` of it (SHARP's HDI: 0.1).

    Mended: SHARP takes the interval of the runs themselves, which no number of runs narrows: it stops at once on
    steady programs and never on others. Here it is that of the mean's posterior under a flat prior, Student's t,
    whose highest-density interval is the central one.
    """
    error = relative_error(runs.outcomes)
    if error is None:
        return stopping(runs, False, "the mean is zero or not known, so an interval relative to it means nothing")
    width = 2 * float(stdtrit(runs.outcomes.size - 1, 0.5 + LEVEL / 2)) * error
    return stopping(runs, width <= target, f"the interval of the mean spans {width:.2g} of it (target {target:g})")
