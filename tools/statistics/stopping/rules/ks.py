"""ks: stop when the two halves of the runs look alike."""

from __future__ import annotations

import numpy as np

from ...values import FloatArray
from ..rule import OutcomesSoFar, Stopping, stopping


def decide(runs: OutcomesSoFar, target: float) -> Stopping:
    """Stop when the Kolmogorov-Smirnov distance between first and second half is at most `target` (SHARP's KS: 0.1).

    Mended: each run counts once, where SHARP stores it twice after the fifth and then compares halves that overlap.
    It is blind to tails, which move the distance little.
    """
    x = runs.outcomes
    if x.size < 2:
        return stopping(runs, False, "two runs at least make two halves")
    half = x.size // 2
    distance = _distance(np.sort(x[:half]), np.sort(x[half:]))
    return stopping(runs, distance <= target, f"the halves are {distance:.2g} apart (target {target:g})")


def _distance(one: FloatArray, other: FloatArray) -> float:
    """Greatest distance between two empirical distributions of sorted values."""
    both = np.concatenate((one, other))
    shares = (np.searchsorted(half, both, side="right") / half.size for half in (one, other))
    return float(np.abs(np.subtract(*shares)).max())
