"""rank_factors: which factors go with the slow runs, by more than the luck of looking at many."""

from __future__ import annotations

import numpy as np

from .base import Arguments, Outcome, Result, Tool
from .candidates import Candidates, candidates
from .case import Case
from .statistics.association.factors import Cluster, cluster_factors, r_squared
from .subject import Frozen


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


class RankResult(Result):
    """What goes with slowness, most important first."""

    visible: bool
    p_value: float
    """Of the whole search."""
    factors: tuple[RankedFactor, ...]
    set_aside: dict[str, str]
    clusters: int
    """Clusters that were looked at."""


def run(arguments: RankArguments, case: Case) -> Outcome:
    """Rank the candidate columns of the last profile."""
    chosen = candidates(case)
    found = cluster_factors(
        chosen.values,
        chosen.names,
        chosen.slow,
        chosen.wall_s,
        priority={name: _naming_priority(name, case) for name in chosen.names},
        gauges=chosen.gauges,
        seed=case.limits.seed,
    )
    factors = tuple(_ranked(cluster, chosen, case) for cluster in found)
    visible = any(factor.visible for factor in factors)
    p_value = min((factor.p_value for factor in factors), default=1.0)
    result = RankResult(
        visible=visible,
        p_value=p_value,
        factors=factors,
        set_aside=chosen.set_aside,
        clusters=len(factors),
        summary=_summary(factors, visible, p_value),
    )
    return Outcome(result)


def _naming_priority(column: str, case: Case) -> int:
    """The most actionable factor names a cluster; of one factor's columns, the one that it lists first."""
    factor = case.knowledge.factor_of(column)
    return -1 if factor is None else 100 * factor.actionable - factor.signals.index(column)


def _ranked(cluster: Cluster, chosen: Candidates, case: Case) -> RankedFactor:
    factor = case.knowledge.factor_of(cluster.name)
    values = chosen.values[:, chosen.names.index(cluster.name)]
    return RankedFactor(
        factor=factor.key if factor else cluster.name,
        column=cluster.name,
        members=cluster.members,
        auc=cluster.auc,
        auc_per_second=cluster.auc_per_second,
        r2=r_squared(values, chosen.outcome),
        importance=cluster.importance,
        stability=cluster.stability,
        p_value=cluster.p_value,
        slow_median=float(np.median(values[chosen.slow])),
        fast_median=float(np.median(values[~chosen.slow])),
        visible=cluster.p_value <= case.limits.alpha,
    )


def _summary(factors: tuple[RankedFactor, ...], visible: bool, p_value: float) -> str:
    if not visible:
        return f"No visible factor: the best of {len(factors)} clusters has p {p_value:.2g}."
    first = factors[0]
    return (
        f"{first.factor} ({first.column}) goes with slow runs: AUC {first.auc:.2f}, family-wise p {first.p_value:.2g}."
    )


RANK_FACTORS = Tool("rank_factors", "Rank the factors that go with slow runs.", RankArguments, RankResult, run)
