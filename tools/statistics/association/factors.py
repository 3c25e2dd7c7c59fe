"""Which clusters of columns, and pairs of them, go with slow runs: sifted, tested family-wise, ranked. Not cause."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..values import FloatArray, IntArray, slow_mask
from .columns import Association as Association
from .columns import Collinear, FactorAssociation, collinear
from .columns import Columns as Columns
from .drift import drifting, linked_as_it_stands, shadows
from .explaining import effect, explained, is_setting
from .interactions import (
    BUDGET,
    KNOWN,
    MOST,
    RUNS_A_FACTOR,
    ColumnProducts,
    Interaction,
    alone,
    only_together,
    pairs_of,
    quadrants,
    search_pairs,
    seen_apart,
    signs,
)
from .look import Looked, look
from .permutation import Labels, restrict
from .search import FamilywiseTest, search
from .tree import sample

LEAST_RUNS = 1000
RELATED, RELATED_Z = 0.1, 2.576
"""Rank correlation, and how many standard errors of it, from which two columns have to do with each other."""
SHARE = 0.8
"""Of alpha that the columns may spend; the rest is for pairs that only work together."""
LEAST_SAMPLE, ENTRIES = 5_000, 2_000_000
"""What only explains looks at so many runs at least, and at so many entries of the table at most."""


@dataclass(frozen=True)
class Pairing:
    """The pairs that were searched."""

    chosen: list[int]
    """Clusters that were paired, each with each."""
    rows: IntArray
    """Runs that were looked at."""
    pairs: ColumnProducts
    searched: FamilywiseTest
    """Not yet paid for."""
    together: FloatArray
    """Sign of each pair: positive where slow runs have both high or both low."""


def pair(
    looked: Looked, clusters: Sequence[Collinear], found: FamilywiseTest, alpha: float, permutations: int, seed: int
) -> Pairing | None:
    """Search the pairs of clusters; None where there is at most one cluster, or one class.

    Rates are paired as amounts, times the length of the run: a rate beside an amount of the same thing would tell the
    length of every run, which is the outcome. Where there are two such lengths, rates are left out.
    """
    chosen = _chosen(looked, clusters, found.statistics)
    if len(chosen) < 2 or looked.classes.max(initial=0) == 0:
        return None
    rows = sample(looked.classes, max(LEAST_RUNS, BUDGET // (len(chosen) * (len(chosen) - 1) // 2)), seed)
    speakers = _speakers(looked, clusters)
    ranked, labels = restrict(looked.ranked, looked.labels, rows)
    amounts = np.where(looked.columns.multiplied()[looked.kept], ranked.places[-1], ranked.places[0])
    pairs = pairs_of(np.asarray(ranked.vectors[:, amounts[speakers[chosen]]], dtype=np.float64), labels.basis)
    pairs = pairs.only(seen_apart(looked.columns.values[np.ix_(rows, looked.kept[speakers[chosen]])]))
    standing = speakers[_standing(looked, found, speakers, alpha)[: min(KNOWN, rows.size // RUNS_A_FACTOR)]]
    known = _known(looked.columns.values[np.ix_(rows, looked.kept[standing])], labels)
    searched = search_pairs(pairs, labels, known, permutations, seed + 1)
    return Pairing(chosen, rows, pairs, searched, signs(pairs, labels))


def visible_pairs(
    pairing: Pairing,
    looked: Looked,
    clusters: Sequence[Collinear],
    standing: Collection[str],
    share: float,
    alpha: float,
) -> tuple[Interaction, ...]:
    """Describe the pairs that stand out, the most convincing first; `share` of alpha is theirs.

    `standing` are the names of clusters that are visible alone. A pair of these must do little apart and have nothing
    to do with each other: two signs of one cause bend each other's effect, since a share cannot exceed one.
    """
    standing, slow = frozenset(standing), slow_mask(looked.classes)
    p_values = np.minimum(np.array(pairing.searched.p_values) / share, 1.0)
    order = np.lexsort((-np.array(pairing.searched.statistics), p_values))
    found = []
    for place in order[p_values[order] <= alpha].tolist():
        first, second = (
            clusters[pairing.chosen[int(side[place])]] for side in (pairing.pairs.first, pairing.pairs.second)
        )
        shares, runs = quadrants(looked.values(first.speaker), looked.values(second.speaker), slow)
        if {first.name, second.name} <= standing and not (
            only_together(shares) and _unrelated(looked, first.speaker, second.speaker)
        ):
            continue
        found.append(
            Interaction(
                first=first.name,
                second=second.name,
                together="alike" if pairing.together[place] > 0 else "unlike",
                p_value=float(p_values[place]),
                slow_shares=shares,
                runs=runs,
            )
        )
    return tuple(found)


def _unrelated(looked: Looked, first: str, second: str) -> bool:
    one, other = (looked.ranked.raw[:, looked.place_of[name]] for name in (first, second))
    return abs(float(one @ other)) <= max(RELATED_Z / math.sqrt(looked.classes.size), RELATED)


def _standing(looked: Looked, found: FamilywiseTest, speakers: IntArray, alpha: float) -> list[int]:
    """Clusters that go with slow runs alone, also those that do so in spells, where luck is not ruled out.

    What one column tells must not pass for what two do: it is known either way.
    """
    linked = np.array(found.p_values) <= alpha
    if looked.labels.dependent:
        linked |= linked_as_it_stands(looked, alpha)[speakers]
    return [int(place) for place in np.argsort(found.p_values, kind="stable") if linked[place]]


def _known(columns: FloatArray, labels: Labels) -> FloatArray:
    """What the columns (runs, c) that stand already do alone, shape (runs, terms)."""
    terms = [alone(column, labels.residual, labels.basis) for column in columns.T]
    return np.concatenate([np.empty((columns.shape[0], 0)), *terms], axis=1)


def _speakers(looked: Looked, clusters: Sequence[Collinear]) -> IntArray:
    return np.array([looked.place_of[cluster.speaker] for cluster in clusters], dtype=np.int64)


def _chosen(looked: Looked, clusters: Sequence[Collinear], statistics: Sequence[float]) -> list[int]:
    """Choose at most `MOST` clusters: settings, then the most actionable, then the most strongly linked.

    The strength of a main effect says nothing about an interaction where there is none (Dai et al. 2012), so that
    choosing by it costs nothing.
    """
    columns = looked.columns

    def merit(place: int) -> tuple[bool, int, float]:
        cluster = clusters[place]
        return is_setting(cluster, columns), columns.priority.get(cluster.speaker, 0), statistics[place]

    two_lengths = looked.ranked.places.shape[0] > 2
    rates = looked.columns.multiplied()[looked.kept][_speakers(looked, clusters)] & two_lengths
    best = sorted(np.flatnonzero(~rates).tolist(), key=merit, reverse=True)[:MOST]
    return sorted(best)


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
    ranked, strength = looked.ranked, np.abs(looked.ranked.auc[: looked.ranked.columns] - 0.5)
    clusters = collinear(ranked.raw, looked.names, strength, columns.priority, columns.groups, columns.makers)
    groups = [place for place, cluster in enumerate(clusters) if cluster.name in columns.groups]
    members = [[looked.place_of[name] for name in cluster.members] for cluster in clusters]
    found = search(looked.ranked, looked.labels, members, permutations, seed, groups)
    # A pair can only be surer than the best column if its least p-value, paid for, is below that column's.
    decided = not explain and found.p_value / SHARE <= 1 / (1 + permutations) / (1 - SHARE)
    pairing = None if decided else pair(looked, clusters, found, alpha, permutations, seed)
    share = SHARE if len(clusters) > 1 else 1.0
    p_values = [min(p / share, 1.0) for p in found.p_values]
    aside = drifting(looked, clusters, p_values, alpha)
    linked = [cluster.name for cluster, p_value in zip(clusters, p_values, strict=True) if p_value <= alpha]
    aside |= shadows(looked, clusters, aside, linked, alpha * share, seed)
    standing = [place for place, cluster in enumerate(clusters) if cluster.name not in aside]
    factors = _factors(looked, clusters, found, p_values, standing, alpha)
    rows = sample(looked.classes, max(LEAST_SAMPLE, ENTRIES // max(looked.ranked.auc.size, 1)), seed)
    if explain:
        factors = explained(looked, factors, rows, alpha, seed)
    visible = [factor.name for factor in factors if factor.visible]
    pairs = visible_pairs(pairing, looked, clusters, visible, 1 - SHARE, alpha) if pairing else ()
    of_pairs = pairing.searched.p_value / (1 - SHARE) if pairing else 1.0
    return Association(
        p_value=min([1.0, of_pairs, *(p_values[place] for place in standing)]),
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
