"""Columns that say the same thing, taken together and named by the one a user can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from ..ranks import auc, spearman
from ..values import FloatArray, Result

SAME = 0.9


class Collinear(Result):
    """Columns that say the same thing."""

    name: str
    """The member with the highest priority, then the strongest link to slowness."""
    members: tuple[str, ...]
    """In the order of the table."""


def collinear(
    columns: FloatArray, names: Sequence[str], slow: ArrayLike, priority: Mapping[str, int] | None = None
) -> tuple[Collinear, ...]:
    """Join columns whose |Spearman| exceeds 0.9 on average; `priority` is how directly a user can act on each."""
    if not len(names):
        return ()
    distance = np.clip(1 - np.abs(spearman(columns)), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    which = np.ones(1, dtype=int)
    if len(names) > 1:
        which = fcluster(linkage(squareform(distance, checks=False), "average"), 1 - SAME, "distance")
    strength = np.abs(auc(columns, slow) - 0.5)
    rank = priority or {}
    groups: dict[int, list[int]] = {}
    for place, group in enumerate(which.tolist()):
        groups.setdefault(group, []).append(place)
    # Columns arrive in order, so groups stand in the order of their first member, and max keeps the first of equals.
    return tuple(
        Collinear(
            name=names[max(places, key=lambda place: (rank.get(names[place], 0), strength[place]))],
            members=tuple(names[place] for place in places),
        )
        for places in groups.values()
    )
