"""spread: stop when the SD is known, not only the mean; the default."""

from __future__ import annotations

import numpy as np

from ...spread import inflation
from ..rule import OutcomesSoFar, Stopping, equal, known_within, stopping

TAIL_RUNS = 10
"""Runs in the slowest tenth: fewer say little about a tail."""


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
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
