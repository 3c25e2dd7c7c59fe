"""Which clusters of counters go with slow runs: grouped, tested family-wise, ranked. Association, not cause."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..ranks import auc
from ..ranks import r_squared as r_squared
from ..shape.order import block_length
from ..values import FloatArray, Result
from .clusters import collinear
from .columns import Table as Table
from .columns import consequences as consequences
from .columns import per_time
from .columns import too_few as too_few
from .columns import usable as usable
from .importance import importance, stability
from .search import search_p_value


class Cluster(Result):
    """Collinear columns and how they go with slow runs; the AUCs are those of the column that names it."""

    name: str
    """The member with the highest priority, then the strongest link to slowness."""
    members: tuple[str, ...]
    direction: Literal["more", "less"]
    """What slow runs have of it."""
    auc: float
    auc_per_second: float | None
    """Divided by run time; None for a gauge."""
    p_value: float
    """Family-wise: it has paid for every column looked at, and needs the link both raw and per second."""
    importance: float
    """Balanced accuracy lost on unseen runs when the cluster is shuffled."""
    stability: float
    """Share of subsamples in which it is among the top three."""


def cluster_factors(
    columns: FloatArray,
    names: Sequence[str],
    slow: ArrayLike,
    time: ArrayLike,
    *,
    priority: Mapping[str, int] | None = None,
    gauges: Collection[str] = (),
    permutations: int = 2000,
    seed: int = 0,
) -> tuple[Cluster, ...]:
    """Cluster, test and rank, the most convincing first; the least p-value is that of the whole search.

    Rows in run order (neighbours are permuted together when slowness comes in spells); columns as `usable` leaves
    them and without `consequences`. Gauges do not count up during a run (a temperature), so they have no rate.
    """
    rates = per_time(columns, names, time, gauges)
    found = collinear(columns, names, slow, priority)
    places = {name: place for place, name in enumerate(names)}
    groups = [[places[name] for name in cluster.members] for cluster in found]
    block = block_length(np.asarray(slow, dtype=np.float64))
    searched = search_p_value(columns, slow, groups, permutations, seed, block, rates)
    weights, steady = importance(columns, slow, groups, seed), stability(columns, slow, groups, seed, rates)
    raw, scaled = auc(columns, slow), auc(rates, slow)
    clusters = [
        Cluster(
            name=group.name,
            members=group.members,
            direction="more" if raw[places[group.name]] >= 0.5 else "less",
            auc=float(raw[places[group.name]]),
            auc_per_second=None if group.name in gauges else float(scaled[places[group.name]]),
            p_value=searched.p_values[place],
            importance=weights[place],
            stability=steady[place],
        )
        for place, group in enumerate(found)
    ]
    ranked = np.lexsort((-np.array(searched.statistics), -np.array(weights), np.array(searched.p_values)))
    return tuple(clusters[place] for place in ranked.tolist())
