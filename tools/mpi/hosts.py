"""Is it a host rather than a rank: do all its ranks come late together?"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from ..statistics.values import FloatArray, IntArray
from .attribution import common, explained
from .rank_summary import HostRanks
from .rows import RankRows


class _Group(NamedTuple):
    host: str
    ranks: IntArray
    """Places of its ranks."""


def of_hosts(rows: RankRows, worse: FloatArray, alpha: float, seed: int) -> tuple[HostRanks, ...]:
    """Hold hosts against each other as ranks are, each by the mean time outside MPI of its ranks; () for one host."""
    groups = _groups(rows)
    if len(groups) < 2:
        return ()
    own = np.column_stack([rows.own_s[:, group.ranks].mean(axis=1) for group in groups])
    why = explained(worse, beyond(own), alpha, seed)
    last = rows.own_s.argmax(axis=1)
    return tuple(
        HostRanks(
            host=group.host,
            ranks=tuple(rows.ranks[place] for place in group.ranks.tolist()),
            own_s=float(np.median(own[:, at])),
            slowest=float(np.isin(last, group.ranks).mean()),
            explained=float(why.share[at]),
            explained_interval=why.intervals[at],
            p_explained=float(why.p[at]),
            together=_together(rows, group, groups, worse),
        )
        for at, group in enumerate(groups)
    )


def beyond(own_s: FloatArray) -> FloatArray:
    """Seconds of each column beyond the mean of the other columns."""
    others = (own_s.sum(axis=1, keepdims=True) - own_s) / max(1, own_s.shape[1] - 1)
    excess: FloatArray = own_s - others
    return excess


def _groups(rows: RankRows) -> list[_Group]:
    """Ranks by the host that each was on most often; none where some rank does not tell."""
    usual = np.array([Counter(column.tolist()).most_common(1)[0][0] for column in rows.place.host.T])
    if (usual == "").any():
        return []
    return [_Group(str(host), np.flatnonzero(usual == host)) for host in np.unique(usual)]


def _together(rows: RankRows, group: _Group, groups: list[_Group], worse: FloatArray) -> float:
    """Share of the variance that goes with its ranks beyond other hosts' even without the rank that goes with most."""
    if group.ranks.size < 2:
        return 0.0
    elsewhere = np.concatenate([one.ranks for one in groups if one.host != group.host])
    others = rows.own_s[:, elsewhere].mean(axis=1, keepdims=True)
    first = max(group.ranks.tolist(), key=lambda place: common(worse, rows.own_s[:, [place]] - others))
    rest = group.ranks[group.ranks != first]
    return common(worse, rows.own_s[:, rest].mean(axis=1, keepdims=True) - others)
