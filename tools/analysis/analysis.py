"""The answer to one question put to one table, or to one group of its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..statistics.association.clusters import FactorAssociation
from ..statistics.association.interactions import Interaction
from ..statistics.association.tree import DecisionTree
from ..statistics.labels.classes import Classes
from ..statistics.labels.cut_search import AUTOMATIC, CutRule, CutSearch
from ..statistics.shape.describe import DistributionShape
from ..statistics.spread import ArmSummary
from ..statistics.values import FiniteResult, FloatArray, IntervalEstimate

Evidence = Literal["association", "intervention", "intervention in blocks"]
"""intervention in blocks: varied on purpose, but one value after the other, so whatever else changed goes with it."""
MIXED = 2.0
"""Standard deviations below the expected number of switches at which the order no longer counts as mixed."""


def evidence(values: FloatArray, places: Sequence[int], setting: bool, ordered: bool) -> Evidence:
    """Judge one factor by its places among the columns, shape (runs, columns): was it set, did its values alternate?

    Settings in unknown order count as blocks: nothing shows that they were mixed.
    """
    if not setting:
        return "association"
    return "intervention" if ordered and mixed(values, places) else "intervention in blocks"


def mixed(values: FloatArray, places: Sequence[int]) -> bool:
    """Compare the number of runs of equal values with that of a random order of the same values.

    Mean and variance for any number of values by Barton and David 1957, "Multiple runs". Strict alternation has more
    runs than chance and is mixed as well.
    """
    _, which, counts = np.unique(values[:, list(places)], axis=0, return_inverse=True, return_counts=True)
    n = which.size
    if counts.size < 2:
        return False
    runs = 1 + int((np.diff(which.ravel()) != 0).sum())
    c = counts.astype(np.float64)
    squares, cubes = float((c**2).sum()), float((c**3).sum())
    expected = (n * (n + 1) - squares) / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
    return runs >= expected - MIXED * math.sqrt(max(variance, 0.0))


Verdict = Literal["cause explained", "cause not visible", "steady", "unusable"]


class Finding(FiniteResult):
    """A factor, with what kind of evidence it rests on."""

    factor: FactorAssociation
    evidence: Evidence


class Analysis(FiniteResult):
    """Verdict first, then what it rests on; None where the analysis did not come so far."""

    verdict: Verdict
    reason: str
    outcome: str
    unit: str
    lower_is_better: bool
    runs: int
    """Runs that count: with an outcome, after warm-up; samples, where `of_runs` is not 0."""
    of_runs: int = 0
    """Runs that gave the samples; 0 where rows are runs."""
    columns: int
    """Columns that could have been factors."""
    spread: ArmSummary | None = None
    sd_interval: IntervalEstimate | None = None
    """95 %, in the unit of the outcome."""
    shape: DistributionShape | None = None
    variance_far_out: float | None = None
    """Share of the variance that goes with the outliers of the shape."""
    classes: Classes | None = None
    cut_search: CutSearch | None = None
    """With `--cut search`: what the search looked at, and what it is worth on unseen runs."""
    tree: DecisionTree | None = None
    p_value: float | None = None
    """Of the whole search: that chance alone would show any cluster so strongly."""
    p_adjusted: float | None = None
    """Over the groups of the table (Holm); the same as `p_value` where there is one group."""
    detectable_auc: float | None = None
    """About the weakest link that these runs would have shown four times in five."""
    findings: tuple[Finding, ...] = ()
    """Clusters of columns, most convincing first; those that are not visible too."""
    interactions: tuple[Interaction, ...] = ()
    sampled: int | None = None
    """Runs behind what only explains, where the table was too large for all; AUCs and p-values look at every run."""
    set_aside: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    """Each says what to do about it."""


@dataclass(frozen=True)
class AnalysisOptions:
    """How to cut, how sure to be, how much chance to draw."""

    cut: CutRule = AUTOMATIC
    alpha: float = 0.05
    """Chance of naming any cause where there is none."""
    steady_cv: float = 0.01
    """At or below this coefficient of variation there is nothing to reduce."""
    depth: int = 3
    permutations: int = 2000
    seed: int = 1
    explain: bool = True
    """Whether tree, importance and intervals are wanted beside the verdict."""
