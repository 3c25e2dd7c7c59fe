"""What makes a ranking worth reading beside its p-values: importance, stability, intervals, several factors at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..values import IntArray
from .importance import Importance, importance, stability
from .interval import auc_interval
from .look import Looked
from .ranked import restrict
from .results import FactorAssociation
from .several import independent

UNSEEN = Importance(None, None, None)


def explained(
    looked: Looked, factors: Sequence[FactorAssociation], rows: IntArray, alpha: float, seed: int
) -> list[FactorAssociation]:
    """Complete the factors from the runs in `rows`, and put the more important of equally sure ones first."""
    clusters = [[looked.place_of[name] for name in factor.members] for factor in factors]
    ranked, labels = restrict(looked.ranked, looked.labels, rows)
    classes, block = looked.classes[rows], looked.labels.block
    shown = [place for place, factor in enumerate(factors) if factor.visible]
    groups = [place for place, factor in enumerate(factors) if factor.name in looked.columns.groups]
    # What tells most goes first, else it would be judged beside what only tells part of it.
    strongest = sorted(shown, key=lambda place: (factors[place].role != "setting", -abs(factors[place].auc - 0.5)))
    asked = [clusters[place] if place in groups else [looked.place_of[factors[place].column]] for place in strongest]
    own = independent(ranked, labels, asked, lambda place: looked.columns.values[rows, looked.kept[place]], alpha, seed)
    alone = dict(zip(strongest, own, strict=True))
    # A consequence that passed the sift by luck parts the classes as well as its cause: trees do not see shadows.
    seen = [place for place in shown if alone[place] is not False] or list(range(len(factors)))
    weighed = _importance(looked, [clusters[place] for place in seen], rows, seed)
    weights = {**dict.fromkeys(range(len(factors)), UNSEEN), **dict(zip(seen, weighed, strict=True))}
    steady = stability(ranked, labels, classes, clusters, seed, groups)

    def convincing(place: int) -> tuple[bool, bool, bool, float, float]:
        # What was set comes before what it moves, and what tells nothing beside another comes last.
        one = factors[place]
        shadow = alone.get(place) is False
        return not one.visible, one.role != "setting", shadow, one.p_value, -(weights[place].mean or 0.0)

    order = sorted(range(len(factors)), key=convincing)
    return [
        factors[place].model_copy(
            update={
                "importance": weights[place].mean,
                "importance_low": weights[place].low if block == 1 else None,
                "importance_high": weights[place].high if block == 1 else None,
                "stability": steady[place],
                "independent": alone.get(place),
                **_interval(looked, factors[place], looked.place_of[factors[place].column]),
            }
        )
        for place in order
    ]


def _importance(looked: Looked, clusters: list[list[int]], rows: IntArray, seed: int) -> list[Importance]:
    """Of clusters of kept columns; what is in none of them is out of the trees' sight."""
    if not clusters:
        return []
    used = sorted(place for cluster in clusters for place in cluster)
    inside = [np.searchsorted(used, cluster).tolist() for cluster in clusters]
    values = looked.columns.values[np.ix_(rows, looked.kept[used])]
    return importance(values, looked.classes[rows], inside, seed, block=looked.labels.block)


def _interval(looked: Looked, factor: FactorAssociation, column: int) -> dict[str, float]:
    if looked.labels.block > 1:
        return {}
    found = auc_interval(looked.columns.values[:, looked.kept[column]], looked.classes, factor.auc)
    return {} if found is None else {"auc_low": found.low, "auc_high": found.high}
