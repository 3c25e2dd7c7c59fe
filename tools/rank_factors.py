"""rank_factors: which factors go with the slow runs, by more than the luck of looking at many."""

from __future__ import annotations

import numpy as np

from .base import Arguments, Outcome, Result, Tool
from .candidates import ORDER, Candidates, candidates
from .case import Case
from .statistics.association.factors import Association, Factor, Interaction, associate
from .statistics.association.order import drift_of
from .statistics.ranks import r_squared
from .subject import Frozen

ORDER_SHARE = 0.1
"""Of alpha that the order of the runs may spend: a drift that matters is plain."""


class RankArguments(Arguments):
    """Nothing to choose: the cut and the columns stand already."""


class RankedFactor(Frozen):
    """A cluster of collinear columns, named by its most actionable member."""

    factor: str
    """Key of the knowledge base, or the column where it has none."""
    column: str
    """The column that stands for the cluster."""
    members: tuple[str, ...]
    auc: float
    """Chance that a slow run shows more of it than a fast one; 0.5 says nothing."""
    auc_per_second: float | None
    """The same for its rate; None where a rate means nothing."""
    r2: float | None
    """Share of the outcome's variance that goes linearly with the column."""
    importance: float
    """Drop of cross-validated balanced accuracy when the cluster is shuffled."""
    stability: float
    """Share of subsamples in which it is among the first three."""
    p_value: float
    """Family-wise over every cluster that was looked at."""
    slow_median: float
    fast_median: float
    visible: bool
    """Its p-value is at or below alpha."""
    auc_low: float | None = None
    """95 % interval of `auc`; None where it cannot be stood behind."""
    auc_high: float | None = None
    importance_low: float | None = None
    """95 % interval of `importance`; None where no tree asked for it."""
    importance_high: float | None = None
    independent: bool | None = None
    """Still linked, given the visible factors before it; None where that was not asked."""


class RankResult(Result):
    """What goes with slowness, most important first."""

    visible: bool
    p_value: float
    """Of the whole search."""
    factors: tuple[RankedFactor, ...]
    set_aside: dict[str, str]
    clusters: int
    """Clusters that were looked at, the order of the runs among them."""
    interactions: tuple[Interaction, ...] = ()
    """Visible pairs of clusters that only work together."""
    warnings: tuple[str, ...] = ()


def run(arguments: RankArguments, case: Case) -> Outcome:
    """Rank the candidate columns of the last profile, and the order of its runs."""
    chosen = candidates(case)
    alpha, seed = case.limits.alpha, case.limits.seed
    found = associate(
        chosen.columns,
        chosen.slow,
        chosen.outcome,
        per=chosen.wall_s,
        per_name="run time",
        alpha=alpha * (1 - ORDER_SHARE),
        seed=seed,
    )
    together = _pair_p_values(found)
    ranked = [_ranked(factor, together, case) for factor in found.factors]
    factors = tuple(sorted([*ranked, _order(chosen, case)], key=lambda factor: factor.p_value))
    visible = any(factor.visible for factor in factors)
    p_value = min(factor.p_value for factor in factors)
    result = RankResult(
        visible=visible,
        p_value=p_value,
        factors=factors,
        set_aside=chosen.set_aside | dict(found.set_aside),
        clusters=found.clusters + 1,
        interactions=found.interactions,
        warnings=found.warnings,
        summary=_summary(factors, visible, p_value),
    )
    return Outcome(result)


def _pair_p_values(found: Association) -> dict[str, float]:
    """Least p-value of the visible pairs that a cluster belongs to: what only works with another is a factor too."""
    least: dict[str, float] = {}
    for pair in found.interactions:
        for name in (pair.first, pair.second):
            least[name] = min(pair.p_value, least.get(name, 1.0))
    return least


def _ranked(found: Factor, together: dict[str, float], case: Case) -> RankedFactor:
    factor = case.knowledge.factor_of(found.column)
    p_value = min(1.0, min(found.p_value, together.get(found.name, 1.0)) / (1 - ORDER_SHARE))
    return RankedFactor(
        factor=factor.key if factor else found.column,
        column=found.column,
        members=found.members,
        auc=found.auc,
        auc_low=found.auc_low,
        auc_high=found.auc_high,
        auc_per_second=found.auc_per_unit,
        r2=found.r2,
        importance=found.importance or 0.0,
        importance_low=found.importance_low,
        importance_high=found.importance_high,
        stability=found.stability or 0.0,
        independent=found.independent,
        p_value=p_value,
        slow_median=found.slow_median,
        fast_median=found.fast_median,
        visible=p_value <= case.limits.alpha,
    )


def _order(chosen: Candidates, case: Case) -> RankedFactor:
    """The order of the runs: `associate` takes it out of every column, so drift is tested here by itself."""
    drift = drift_of(chosen.columns, chosen.slow, chosen.wall_s, seed=case.limits.seed)
    factor = case.knowledge.factor_of(ORDER)
    order = np.arange(chosen.slow.size, dtype=np.float64)
    p_value = min(1.0, drift.p_value / ORDER_SHARE)
    return RankedFactor(
        factor=factor.key if factor else ORDER,
        column=ORDER,
        members=(ORDER,),
        auc=drift.auc,
        auc_per_second=None,
        r2=r_squared(order, chosen.outcome),
        importance=drift.importance,
        stability=drift.stability,
        p_value=p_value,
        slow_median=float(np.median(order[chosen.slow])),
        fast_median=float(np.median(order[~chosen.slow])),
        visible=p_value <= case.limits.alpha,
    )


def _summary(factors: tuple[RankedFactor, ...], visible: bool, p_value: float) -> str:
    if not visible:
        return f"No visible factor: the best of {len(factors)} clusters has p {p_value:.2g}."
    first = factors[0]
    return (
        f"{first.factor} ({first.column}) goes with slow runs: AUC {first.auc:.2f}, family-wise p {first.p_value:.2g}."
    )


RANK_FACTORS = Tool("rank_factors", "Rank the factors that go with slow runs.", RankArguments, RankResult, run)
