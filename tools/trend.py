"""Whether the baseline drifts as the profiled runs do: what only one of two series shows is a spell, no trend."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from .case import Case
from .measure import MeasureResult

LEVEL = 0.05
"""At which the baseline confirms; it is asked about one direction only."""
FEWEST = 4
"""Runs of which a correlation can be told from chance at all."""


def same_trend(case: Case, later_is_slower: bool) -> bool:
    """Tell whether runs got slower (or faster) with time in the baseline, too: Spearman's correlation, one-sided.

    Without a baseline nothing speaks against it.
    """
    if not (measured := case.record.succeeded("measure")):
        return True
    outcomes = case.record.runs(measured[-1]).outcome()[measured[-1].read(MeasureResult).warm_up :]
    if outcomes.size < FEWEST or outcomes.min() == outcomes.max():
        return False
    rises = later_is_slower == case.subject.lower_is_better
    found = spearmanr(np.arange(outcomes.size), outcomes, alternative="greater" if rises else "less")
    return bool(found.pvalue <= LEVEL)
