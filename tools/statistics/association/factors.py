"""Which clusters of columns go with slow runs: sifted, grouped, tested family-wise, ranked. Association, not cause."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..values import IntArray
from .clusters import Association as Association
from .clusters import Collinear, FactorAssociation, collinear
from .columns import Columns as Columns
from .drift import drifting, shadows
from .explaining import effect, explained, is_setting
from .interactions import Interaction as Interaction
from .look import Looked, look
from .pairing import Pairing, pair, visible_pairs
from .search import FamilywiseTest, search
from .tree import sample

SHARE = 0.8
"""Of alpha that the columns may spend; the rest is for pairs that only work together."""
LEAST_SAMPLE, ENTRIES = 5_000, 2_000_000
"""What only explains looks at so many runs at least, and at so many entries of the table at most."""


def associate(
    columns: Columns,
    classes: ArrayLike,
    outcome: ArrayLike,
    *,
    per: ArrayLike | None,
    per_name: str | Sequence[str] = "the outcome",
    ordered: bool = True,
    apart: IntArray | None = None,
    alpha: float = 0.05,
    permutations: int = 2000,
    seed: int = 0,
    explain: bool = True,
) -> Association:
    """Say which columns go with slow runs by more than the luck of looking at many.

    Args:
        columns: Rows in run order.
        classes: Shape (runs,): a mask of slow runs, or ordered class numbers, the worst the highest.
        outcome: Shape (runs,); only effects are read from it.
        per: What columns are divided by, shape (runs,), or (runs, k) for several of which each must hold (the work
            done and the time taken, where it is not known which of the two was fixed). Positive; None: no division.
            What merely follows it is set aside.
        per_name: What `per` is, for the reasons.
        ordered: Whether the order of the rows is that of the runs: then what goes with it, goes with it alone.
        apart: Shape (runs,): numbers of groups of runs that were made in different ways (layers that wrap the
            program); what only tells them apart is no cause, whatever its share of slow runs.
        alpha: Family-wise level of `visible`.
        permutations: Draws by chance; the least p-value is about 1 / permutations.
        seed: Of all draws.
        explain: Whether importance, stability, intervals and independence are wanted beside the p-values.

    """
    looked = look(columns, classes, outcome, per, per_name, ordered, apart)
    clusters = _clusters(looked)
    groups = [place for place, cluster in enumerate(clusters) if cluster.name in columns.groups]
    members = [[looked.place_of[name] for name in cluster.members] for cluster in clusters]
    found = search(looked.ranked, looked.labels, members, permutations, seed, groups)
    # A pair can only be surer than the best column if its least p-value, paid for, is below that column's.
    decided = not explain and found.p_value / SHARE <= 1 / (1 + permutations) / (1 - SHARE)
    pairing = None if decided else pair(looked, clusters, found, alpha, permutations, seed)
    share = SHARE if len(clusters) > 1 else 1.0
    p_values = [min(p / share, 1.0) for p in found.p_values]
    aside = drifting(looked, clusters, p_values, alpha)
    aside |= shadows(looked, clusters, aside, _visible(clusters, p_values, alpha), seed)
    standing = [place for place, cluster in enumerate(clusters) if cluster.name not in aside]
    factors = _factors(looked, clusters, found, p_values, standing, alpha)
    rows = sample(looked.classes, max(LEAST_SAMPLE, ENTRIES // max(looked.ranked.auc.size, 1)), seed)
    if explain:
        factors = explained(looked, factors, rows, alpha, seed)
    visible = [factor.name for factor in factors if factor.visible]
    pairs = visible_pairs(pairing, looked, clusters, visible, 1 - SHARE, alpha) if pairing else ()
    return Association(
        p_value=min(
            [
                1.0,
                *(p_values[place] for place in standing),
                *([pairing.searched.p_value / (1 - SHARE)] if pairing else []),
            ]
        ),
        factors=factors,
        set_aside=looked.set_aside | {name: why for reasons in aside.values() for name, why in reasons.items()},
        interactions=pairs,
        clusters=len(clusters),
        pairs=pairing.pairs.first.size if pairing else 0,
        block=looked.labels.block,
        trend_terms=looked.labels.trend_terms,
        sampled=rows.size if explain and rows.size < looked.classes.size else None,
        warnings=(*looked.warnings, *_cut_short(looked, clusters, pairing, rows.size if explain else None)),
    )


def _clusters(looked: Looked) -> tuple[Collinear, ...]:
    columns, ranked = looked.columns, looked.ranked
    strength = np.abs(ranked.auc[: ranked.columns] - 0.5)
    return collinear(ranked.raw, looked.names, strength, columns.priority, columns.groups, columns.makers)


def _visible(clusters: Sequence[Collinear], p_values: Sequence[float], alpha: float) -> list[str]:
    return [cluster.name for cluster, p_value in zip(clusters, p_values, strict=True) if p_value <= alpha]


def _factors(
    looked: Looked,
    clusters: Sequence[Collinear],
    found: FamilywiseTest,
    p_values: Sequence[float],
    standing: Sequence[int],
    alpha: float,
) -> list[FactorAssociation]:
    factors = []

    def rank(place: int) -> tuple[bool, bool, float, float]:
        # What was set comes before what it moves: a counter must stand beside the settings, not instead of them.
        moved = not is_setting(clusters[place], looked.columns)
        return p_values[place] > alpha, moved, p_values[place], -found.statistics[place]

    for place in sorted(standing, key=rank):
        cluster = clusters[place]
        column = looked.place_of[cluster.speaker]
        values = looked.columns.values[:, looked.kept[column]]
        auc, per_unit = _aucs(looked, column)
        factors.append(
            FactorAssociation(
                **effect(cluster, looked.columns, values, looked.classes, looked.outcome),
                direction="more" if auc >= 0.5 else "less",
                auc=auc,
                auc_per_unit=per_unit,
                p_value=p_values[place],
                visible=p_values[place] <= alpha,
            )
        )
    return factors


def _aucs(looked: Looked, column: int) -> tuple[float, float | None]:
    """AUC of a kept column, and of its weakest division."""
    ranked = looked.ranked
    raw, *divided = (float(ranked.auc[place]) for place in ranked.places[:, column])
    if not divided or bool((ranked.places[1:, column] == column).all()):
        return raw, None
    return raw, min(divided, key=lambda auc: (auc - 0.5) * (1 if raw >= 0.5 else -1))


def _cut_short(
    looked: Looked, clusters: Sequence[Collinear], pairing: Pairing | None, explaining: int | None
) -> tuple[str, ...]:
    runs, said = looked.classes.size, []
    if explaining is not None and explaining < runs:
        said.append(
            f"Importance, stability and independence rest on {explaining:,} of {runs:,} runs, drawn evenly from the "
            "classes; p-values and AUCs rest on all."
        )
    if pairing and pairing.rows.size < runs:
        said.append(f"Pairs were searched on {pairing.rows.size:,} of {runs:,} runs, drawn evenly from the classes.")
    if pairing and len(pairing.chosen) < len(clusters):
        said.append(
            f"Pairs were searched among {len(pairing.chosen)} of {len(clusters)} clusters: settings, then the most "
            "actionable, then the most strongly linked; exclude columns to search among others."
        )
    return tuple(said)
