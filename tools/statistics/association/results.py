"""What an association search found, in a form that can stand in a transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ..values import FiniteResult
from .interactions import Interaction


class FactorAssociation(FiniteResult):
    """A cluster of columns that say the same thing, and how it goes with slow runs; None says undefined."""

    name: str
    """The setting; else the member with the highest priority, then the strongest link to slowness."""
    column: str
    """Whose numbers these are: the column that names the cluster, or the strongest indicator of a setting."""
    members: tuple[str, ...]
    role: Literal["factor", "setting"]
    """setting: varied on purpose."""
    direction: Literal["more", "less"]
    """What slow runs have of it."""
    auc: float
    """Chance that a slow run has more of it than a fast one (see `ranks.auc` for several classes)."""
    auc_low: float | None = None
    """95 % interval of `auc`; None for several classes, under five runs in one, or runs that depend on each other."""
    auc_high: float | None = None
    auc_per_unit: float | None = None
    """The AUC nearest to 0.5 of those divided; None for what is not divided."""
    p_value: float
    """Family-wise: it has paid for every column and every pair, and needs the link both raw and divided."""
    visible: bool
    """Its p-value is at or below alpha."""
    independent: bool | None = None
    """Still linked, given the visible factors before it that are; None where that was not asked."""
    r2: float | None
    """Share of the outcome's variance that goes linearly with the column."""
    eta2: float | None = None
    """Of a setting with few values: share of the outcome's variance between them."""
    eta2_log: float | None = None
    """The same for the logarithm of a positive outcome."""
    slow_median: float
    """Of the column, in the worst class; of an indicator it is the mean."""
    fast_median: float
    """The same in the best class."""
    importance: float | None = None
    """Balanced accuracy lost on unseen runs when the cluster is shuffled.

    Trees see the visible factors that are independent, or all clusters where none is visible; None for the others.
    """
    importance_low: float | None = None
    """95 % interval of `importance`; None where few trees lost by it, or runs depend on each other."""
    importance_high: float | None = None
    stability: float | None = None
    """Share of subsamples in which it is among the top three."""


class Association(FiniteResult):
    """What goes with slow runs: association, not cause."""

    p_value: float
    """Of the whole search, pairs included: that chance alone would show anything so strongly."""
    factors: tuple[FactorAssociation, ...] = ()
    """The most convincing first; those that are not visible too."""
    set_aside: Mapping[str, str] = {}
    interactions: tuple[Interaction, ...] = ()
    """Visible pairs, the most convincing first."""
    clusters: int = 0
    """That were searched."""
    pairs: int = 0
    """That were searched."""
    block: int = 1
    """Neighbouring runs that depend on each other; above 1, chance kept the spectrum of the labels."""
    trend_terms: int = 0
    """Polynomials of the run number that were taken out before."""
    sampled: int | None = None
    """Runs behind importance, stability, independence and pairs, where the table was too large for all."""
    warnings: tuple[str, ...] = ()
