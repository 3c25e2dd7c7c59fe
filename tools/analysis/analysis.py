"""The answer to one question put to one table, or to one group of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ..statistics.association.interactions import Interaction
from ..statistics.association.results import FactorAssociation
from ..statistics.association.tree import DecisionTree
from ..statistics.labels.classes import Classes
from ..statistics.labels.cut_search import CutSearch
from ..statistics.shape.describe import DistributionShape
from ..statistics.spread import ArmSummary
from ..statistics.values import FiniteResult, IntervalEstimate
from .evidence import Evidence

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
