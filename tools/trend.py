"""Whether the baseline drifts as the profiled runs do: what only one of two series shows is a spell, no trend."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from .case import Case
from .measure import MeasureResult

FEWEST = 4
"""Runs of which a correlation can be told from chance at all."""


def baseline_p(case: Case, later_is_worse: bool) -> float:
    """Give the p-value that runs get worse (or better) with time in the baseline: Spearman's correlation, one-sided.

    1 where it does not vary; 0 without a baseline, since nothing speaks against it then.
    """
    if not (measured := case.record.succeeded("measure")):
        return 0.0
    outcomes = case.record.runs(measured[-1]).outcome()[measured[-1].read(MeasureResult).warm_up :]
    if outcomes.size < FEWEST or outcomes.min() == outcomes.max():
        return 1.0
    rises = later_is_worse == case.subject.lower_is_better
    return float(spearmanr(np.arange(outcomes.size), outcomes, alternative="greater" if rises else "less").pvalue)
