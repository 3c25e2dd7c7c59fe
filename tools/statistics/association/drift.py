"""Clusters that go with slow runs only because both move with the run order, or come in spells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, ndtri

from ..values import BoolArray, FiniteResult, FloatArray, IntArray, auc, auc_error, ranks_of
from .columns import Collinear, Columns, collinear
from .explaining import accounted
from .importance import importance, stability
from .look import Looked, look
from .permutation import GATE, labels_of, lesser
from .search import search

KEPT = 0.8
"""Share of a link that stays without the trend, from which it was not the trend that made it."""
MOST_SPELLS, DRAWS = 3, 1000
"""Stronger columns, set aside, that are accounted for before a weaker one counts, and draws of what is then left."""
MOVES = 0.01
"""Level at which a column counts as moving with the run order."""
ORDER = "the order of the runs"


def drifting(
    looked: Looked, clusters: Sequence[Collinear], p_values: Sequence[float], alpha: float
) -> dict[str, dict[str, str]]:
    """Name of a cluster to the reasons of its members: linked as it stands, not once the order is accounted for.

    The most strongly linked come first.
    """
    if looked.labels.basis.shape[1] == 1 and not looked.labels.dependent:
        return {}
    linked, moves = linked_as_it_stands(looked, alpha), _moves(looked)
    found: dict[str, dict[str, str]] = {}
    strength = np.abs(looked.ranked.auc - 0.5)
    for cluster, p_value in sorted(
        zip(clusters, p_values, strict=True), key=lambda one: -strength[looked.place_of[one[0].speaker]]
    ):
        place = looked.place_of[cluster.speaker]
        if p_value > alpha and linked[place] and moves[place]:
            found[cluster.name] = {member: _reason(looked, looked.place_of[member]) for member in cluster.members}
    return found


def shadows(
    looked: Looked,
    clusters: Sequence[Collinear],
    aside: Mapping[str, Mapping[str, str]],
    visible: Sequence[str],
    alpha: float,
    seed: int,
) -> dict[str, dict[str, str]]:
    """Name of a visible cluster to the reasons of its members: it tells too little beside stronger ones set aside.

    A spell is one event, however many runs it holds. Where the columns that tell most of it are no more alike than
    spells are by luck, one that tells less of the same spell is no evidence either; only its own noise, which makes
    it look less like a spell, let it pass. All of them are measured with noise, so that each tells a little beside
    the others: what is left has to stand out by itself, of all columns, as anything else has to.
    """
    strength = np.abs(looked.ranked.auc - 0.5)
    named = {cluster.name: place for place, cluster in enumerate(clusters)}
    speakers = [looked.place_of[cluster.speaker] for cluster in clusters]
    spells = sorted((speakers[named[name]] for name in aside), key=lambda place: -strength[place])
    found: dict[str, dict[str, str]] = {}
    beyond: dict[tuple[int, ...], Sequence[float]] = {}
    for name in visible:
        own = speakers[named[name]]
        stronger = tuple(spell for spell in spells if strength[spell] > strength[own])[:MOST_SPELLS]
        if stronger and stronger not in beyond:
            beyond[stronger] = _beyond(looked, clusters, stronger, seed)
        if stronger and beyond[stronger][named[name]] > alpha:
            reason = (
                f"tells nothing sure beside {looked.names[stronger[0]]}, which comes in spells, as the outcome does"
            )
            found[name] = dict.fromkeys(clusters[named[name]].members, reason)
    return found


def _beyond(looked: Looked, clusters: Sequence[Collinear], spells: Sequence[int], seed: int) -> Sequence[float]:
    """Family-wise p-value of each cluster for what spells, accounted for, leave of it and of the labels."""
    left = accounted(looked.ranked, looked.labels, spells, lambda one: looked.columns.values[:, looked.kept[one]])
    members = [[looked.place_of[name] for name in cluster.members] for cluster in clusters]
    groups = [place for place, cluster in enumerate(clusters) if cluster.name in looked.columns.groups]
    return search(*left, members, DRAWS, seed, groups).p_values


def linked_as_it_stands(looked: Looked, alpha: float) -> BoolArray:
    """Beyond what the best of all columns reaches by luck when the order means nothing (Bonferroni)."""
    ranked = looked.ranked
    z = (ranked.auc - 0.5) / auc_error(looked.classes)
    bar = -float(ndtri(alpha / 2 / max(ranked.auc.size, 1)))
    linked: BoolArray = lesser(z, ranked.places) > bar
    return linked


def _moves(looked: Looked) -> BoolArray:
    """Undivided columns with a trend (F test) or whose neighbouring runs are alike."""
    ranked, runs = looked.ranked, looked.classes.size
    share, r = ranked.trend[: ranked.columns], ranked.lag1[: ranked.columns]
    terms = looked.labels.basis.shape[1] - 1
    trend: FloatArray = np.ones(share.size)
    if terms:
        trend = 1 - betainc(terms / 2, max(runs - 1 - terms, 1) / 2, np.clip(share, 0.0, 1.0))
    moves: BoolArray = (trend < MOVES) | (r > 2 * GATE / np.sqrt(runs))
    return moves


def _reason(looked: Looked, place: int) -> str:
    raw = float(looked.ranked.auc[place])
    left = np.asarray(looked.ranked.vectors[:, [place]], dtype=np.float64)
    without = float(auc(left, looked.classes)[0])
    if abs(without - 0.5) >= KEPT * abs(raw - 0.5):
        return f"comes in spells, as the outcome does, and is no more alike than spells are by luck: AUC {raw:.2f}"
    labels = looked.labels
    if labels.basis.shape[1] > labels.trend_terms + 1:
        return f"tells the layers that were on, or drifts, as the outcome does: AUC {raw:.2f}, without {without:.2f}"
    return f"drifts with run order, as the outcome does: AUC {raw:.2f}, without the trend {without:.2f}"


class Drift(FiniteResult):
    """How slowness goes with the order of the runs itself."""

    auc: float
    """Chance that a slow run came after a fast one."""
    p_value: float
    """That outcomes whose neighbours are as alike as these, but have no trend, would show as much."""
    importance: float
    """Balanced accuracy lost on unseen runs when the order is shuffled."""
    stability: float
    """Share of subsamples in which it is among the three strongest, beside the clusters of columns."""


def drift_of(
    columns: Columns, classes: ArrayLike, per: ArrayLike, outcome: FloatArray, permutations: int = 2000, seed: int = 0
) -> Drift:
    """Test whether outcomes move with the order of the runs; the arguments are those of `factors.associate`.

    Blocks of runs are shuffled, as long as what is left after the trend needs: the trend itself must not lengthen
    them, or it would hide behind its own dependence. So ranks of the `outcome` are tested and not its classes, of
    which a plain trend leaves long rows of equal ones: where each run took longer than the one before, 60 runs in two
    classes gave p = .0065, their ranks give the least that there is. Simulated 400 times with 60 runs, at .005, as is
    spent of .05: a slope of two SDs .93 (classes .73); of no trend iid .01 (.01), AR(1) with .5 .02 (.03), with .8 .04
    (.08), spells of ten runs .11 (.10): such dependence is not paid for in full, and the baseline has to show it, too.
    """
    scores = ranks_of(outcome)
    order = np.arange(scores.size, dtype=np.float64)[:, None]
    block = labels_of(scores, ordered=True).block
    centred = order[:, 0] - order.mean()
    drawn = _shuffled(scores.size, block, permutations, np.random.default_rng(seed))
    beaten = int((np.abs(scores[drawn] @ centred) >= abs(float(scores @ centred)) - 1e-9).sum())
    lost, steady = _order_beside(columns, classes, per, seed)
    return Drift(
        auc=float(auc(order, classes)[0]),
        p_value=(1 + beaten) / (1 + permutations),
        importance=lost,
        stability=steady,
    )


def _order_beside(columns: Columns, classes: ArrayLike, per: ArrayLike, seed: int) -> tuple[float, float]:
    """Importance and stability of the order as one column among the others, from which no trend is taken."""
    runs = columns.values.shape[0]
    values = np.column_stack((columns.values, np.arange(runs, dtype=np.float64)))
    both = replace(columns, names=(*columns.names, ORDER), values=values, levels=columns.levels | {ORDER})
    looked = look(both, classes, np.zeros(runs), per, ordered=False)
    last = len(looked.names) - 1
    strength = np.abs(looked.ranked.auc[: last + 1] - 0.5)
    found = collinear(looked.ranked.raw, looked.names, strength, {ORDER: 1}, columns.groups)
    clusters = [[looked.place_of[name] for name in cluster.members] for cluster in found]
    own = next(number for number, cluster in enumerate(clusters) if last in cluster)
    steady = stability(looked.ranked, looked.labels, looked.classes, clusters, seed)[own]
    return importance(both.values[:, looked.kept], classes, [[last]], seed)[0].mean or 0.0, steady


def _shuffled(runs: int, block: int, count: int, rng: np.random.Generator) -> IntArray:
    """Orders of the runs: the circle of runs is cut into blocks at a random place, and the blocks are shuffled."""
    keys = np.repeat(rng.random((count, -(-runs // block))), block, axis=1)[:, :runs]
    orders: IntArray = (np.argsort(keys, axis=1, kind="stable") + rng.integers(runs, size=(count, 1))) % runs
    return orders
