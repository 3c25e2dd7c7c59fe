"""Clusters that go with slow runs only because both move with the run order, or come in spells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import betainc, ndtri

from ..ranks import auc, auc_error
from ..values import BoolArray, FloatArray
from .chance import GATE
from .clusters import Collinear
from .look import Looked
from .ranked import lesser
from .several import independent

KEPT = 0.8
"""Share of a link that stays without the trend, from which it was not the trend that made it."""
LEVEL = 0.05
"""At which a column must still go with slow runs beside one that tells more of the same spell."""
MOVES = 0.01
"""Level at which a column counts as moving with the run order."""


def drifting(
    looked: Looked, clusters: Sequence[Collinear], p_values: Sequence[float], alpha: float
) -> dict[str, dict[str, str]]:
    """Name of a cluster to the reasons of its members: linked as it stands, not once the order is accounted for."""
    if looked.labels.basis.shape[1] == 1 and not looked.labels.dependent:
        return {}
    linked, moves = linked_as_it_stands(looked, alpha), _moves(looked)
    found: dict[str, dict[str, str]] = {}
    for cluster, p_value in zip(clusters, p_values, strict=True):
        place = looked.place_of[cluster.speaker]
        if p_value > alpha and linked[place] and moves[place]:
            found[cluster.name] = {member: _reason(looked, looked.place_of[member]) for member in cluster.members}
    return found


def shadows(
    looked: Looked,
    clusters: Sequence[Collinear],
    aside: Mapping[str, Mapping[str, str]],
    visible: Sequence[str],
    seed: int,
) -> dict[str, dict[str, str]]:
    """Name of a visible cluster to the reasons of its members: it tells nothing beside a stronger one set aside.

    A spell is one event, however many runs it holds. Where the column that tells most of it is no more alike than
    spells are by luck, one that tells less of the same spell is no evidence either; only its own noise, which makes
    it look less like a spell, let it pass.
    """
    strength = np.abs(looked.ranked.auc - 0.5)
    named = {cluster.name: cluster for cluster in clusters}
    spells = sorted((looked.place_of[named[name].speaker] for name in aside), key=lambda place: -strength[place])
    found: dict[str, dict[str, str]] = {}
    for name in visible:
        place = looked.place_of[named[name].speaker]
        stronger = [spell for spell in spells if strength[spell] > strength[place]][:1]
        if stronger and not _beside(looked, stronger[0], place, seed):
            reason = f"tells nothing beside {looked.names[stronger[0]]}, which comes in spells, as the outcome does"
            found[name] = dict.fromkeys(named[name].members, reason)
    return found


def _beside(looked: Looked, stronger: int, place: int, seed: int) -> bool:
    """Whether a column still goes with slow runs beside a stronger one."""
    asked = [[stronger], [place]]
    found = independent(
        looked.ranked, looked.labels, asked, lambda one: looked.columns.values[:, looked.kept[one]], LEVEL, seed
    )
    return found[1] is not False


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
