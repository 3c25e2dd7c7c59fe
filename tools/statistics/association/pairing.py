"""Search all pairs of clusters for those that only work together, and describe what is visible."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..ranks import slow_mask
from ..values import BoolArray, FloatArray, IntArray
from .chance import Labels
from .clusters import Collinear
from .drift import linked_as_it_stands
from .explaining import is_setting
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
from .look import Looked
from .ranked import restrict
from .search import FamilywiseTest
from .tree import sample

LEAST_RUNS = 1000
RELATED, RELATED_Z = 0.1, 2.576
"""Rank correlation, and how many standard errors of it, from which two columns have to do with each other."""


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
    amounts = np.where(_rates(looked), ranked.places[-1], ranked.places[0])
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


def _rates(looked: Looked) -> BoolArray:
    """Which of the kept columns are rates, shape (columns,)."""
    return looked.columns.multiplied()[looked.kept]


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
    rates = _rates(looked)[_speakers(looked, clusters)] & two_lengths
    best = sorted(np.flatnonzero(~rates).tolist(), key=merit, reverse=True)[:MOST]
    return sorted(best)
