"""What an analysis may look at: columns, and clusters of those that say the same, named by what a user can act on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..values import BoolArray, FiniteResult, FloatArray, IntArray
from .interactions import Interaction
from .permutation import Floats

SAME = 0.9
WIDTH = 1024
"""Columns compared with all others at a time: bounds the memory for ten thousand."""


@dataclass(frozen=True)
class Columns:
    """Columns that could be factors; rows in run order."""

    names: tuple[str, ...]
    values: FloatArray
    """Shape (runs, columns), finite, none constant; in Fortran order it is read fastest. Never written to."""
    levels: frozenset[str] = frozenset()
    """Do not add up over a run (a temperature, a share), so they are not divided by its length."""
    rates: frozenset[str] = frozenset()
    """Rates and shares over a run, in which a fixed amount makes short runs show more: multiplied by its length."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Categorical setting to its indicator columns: one cluster, named by the setting, and never divided."""
    settings: frozenset[str] = frozenset()
    """Varied on purpose: names of columns or of groups. Never divided."""
    priority: Mapping[str, int] = field(default_factory=dict)
    """How directly a user can act on a column: the highest names a cluster; 0 where nothing is said."""
    makers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Column to those whose factor makes what it counts: in a cluster they name it, whoever has the priority."""
    most_us: Mapping[str, float] = field(default_factory=dict)
    """The most that one of what a column counts can cost, in microseconds; holds only where `per` is in seconds."""

    def divided(self) -> BoolArray:
        """Which columns add up over a run, shape (columns,)."""
        indicators = {member for members in self.groups.values() for member in members}
        whole = self.levels | self.settings | indicators | self.rates
        return np.array([name not in whole for name in self.names], dtype=np.bool_)

    def multiplied(self) -> BoolArray:
        """Which columns were divided by the length of a run already, shape (columns,)."""
        return np.array([name in self.rates for name in self.names], dtype=np.bool_)

    def without(self, aside: Mapping[str, str]) -> Columns:
        """Leave out what was set aside; a copy of the rest."""
        keep = [place for place, name in enumerate(self.names) if name not in aside]
        groups = {group: tuple(name for name in members if name not in aside) for group, members in self.groups.items()}
        return replace(
            self,
            names=tuple(self.names[place] for place in keep),
            values=self.values[:, keep],
            groups={group: members for group, members in groups.items() if members},
        )


@dataclass(frozen=True)
class ColumnMatrix:
    """Columns side by side, one row a run, all finite and none constant."""

    names: tuple[str, ...]
    values: FloatArray
    set_aside: Mapping[str, str]
    """Name to reason of the columns left out."""


def usable(columns: ArrayLike, names: Sequence[str]) -> ColumnMatrix:
    """Drop columns with missing or infinite values and those that never change."""
    x = np.asarray(columns, dtype=np.float64)
    x = x.reshape(x.shape[0], -1) if x.size else np.zeros((x.shape[0], len(names)))
    bad = (~np.isfinite(x)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        constant = (x == x[:1]).all(axis=0)
    reasons: dict[str, str] = {}
    for place, name in enumerate(names):
        if bad[place]:
            reasons[name] = f"missing or not finite in {bad[place]} of {x.shape[0]} runs"
        elif constant[place]:
            reasons[name] = "the same in every run"
    keep = [place for place, name in enumerate(names) if name not in reasons]
    return ColumnMatrix(tuple(names[place] for place in keep), x[:, keep], reasons)


class Collinear(FiniteResult):
    """Columns that say the same thing."""

    name: str
    """The group's; else of the members that no other makes that of the highest priority, then the strongest link."""
    members: tuple[str, ...]
    """In the order of the table."""
    speaker: str
    """The member whose numbers stand for the cluster: the one that names it, or the strongest of a group."""


def collinear(
    vectors: Floats,
    names: Sequence[str],
    strength: FloatArray,
    priority: Mapping[str, int] | None = None,
    groups: Mapping[str, tuple[str, ...]] | None = None,
    makers: Mapping[str, frozenset[str]] | None = None,
) -> tuple[Collinear, ...]:
    """Join columns whose |Spearman| exceeds 0.9 on average; indicators of one setting belong together anyway.

    `vectors` (runs, columns) are ranks around zero and of length one, as `ranked.rank` makes them; `strength` is how
    strongly each goes with slowness, `priority` how directly a user can act on it, `makers` whose doing it is.
    """
    place_of = {name: place for place, name in enumerate(names)}
    apart = {place_of[member]: group for group, members in (groups or {}).items() for member in members}
    free = np.array([place for place in range(len(names)) if place not in apart], dtype=np.int64)
    key_of: dict[int, str | int] = {**apart, **dict(zip(free.tolist(), _joined(vectors, free).tolist(), strict=True))}
    which: dict[str | int, list[int]] = {}
    for place in range(len(names)):
        which.setdefault(key_of[place], []).append(place)
    rank, made_by = priority or {}, makers or {}
    found = []
    for key, places in which.items():
        # Columns arrive in order, so clusters stand in the order of their first member, and max keeps the first.
        members = {names[place] for place in places}
        roots = [place for place in places if members.isdisjoint(made_by.get(names[place], ()))]
        speaker = names[max(roots or places, key=lambda place: (rank.get(names[place], 0), strength[place]))]
        name = key if isinstance(key, str) else speaker
        found.append(Collinear(name=name, members=tuple(names[place] for place in places), speaker=speaker))
    return tuple(found)


def _joined(vectors: Floats, free: IntArray) -> IntArray:
    """Number the cluster of each free column.

    Average linkage below a distance never joins what no pair so near connects, so it is run inside the connected
    components of the near pairs only: ten thousand columns need no matrix of all pairs.
    """
    if not free.size:
        return np.zeros(0, dtype=np.int64)
    number = np.full(vectors.shape[1], -1)
    number[free] = np.arange(free.size)
    first, second = number[np.concatenate(list(_near(vectors)), axis=1)]
    both = (first >= 0) & (second >= 0)
    first, second = first[both], second[both]
    from scipy.sparse import coo_array  # a tenth of a second to load, which who ranks nothing can spare
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(first.size, dtype=np.int8), (first, second)), shape=(free.size, free.size))
    component = connected_components(graph, directed=False)[1].astype(np.int64)
    cluster, used = np.empty(free.size, dtype=np.int64), 0
    order = np.argsort(component, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        inside = _linked(vectors[:, free[places]]) if places.size > 2 else np.zeros(places.size, dtype=np.int64)
        cluster[places] = used + inside
        used += int(inside.max()) + 1
    return cluster


def _near(vectors: Floats) -> Iterator[IntArray]:
    """Pairs of columns whose |Spearman| is at least 0.9, shape (2, pairs)."""
    for start in range(0, vectors.shape[1], WIDTH):
        rho = np.abs(vectors[:, start : start + WIDTH].T @ vectors)
        here, there = np.nonzero(rho >= SAME - 1e-6)
        yield np.stack((here + start, there))


def _linked(vectors: Floats) -> IntArray:
    """Average linkage of a few columns, numbered from 0."""
    distance = np.clip(1 - np.abs(np.asarray(vectors.T @ vectors, dtype=np.float64)), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(distance, checks=False), "average")
    return np.asarray(fcluster(tree, 1 - SAME + 1e-6, "distance"), dtype=np.int64) - 1


class ColumnAssociation(FiniteResult):
    """How a cluster of columns that say the same thing goes with slow runs; None says undefined."""

    column: str
    """Whose numbers these are: the column that names the cluster, or the strongest indicator of a setting."""
    members: tuple[str, ...]
    auc: float
    """Chance that a slow run has more of it than a fast one (see `ranks.auc` for several classes); 0.5 says nothing."""
    auc_low: float | None = None
    """95 % interval of `auc`; None for several classes, under five runs in one, or runs that depend on each other."""
    auc_high: float | None = None
    p_value: float
    """Family-wise: it has paid for all that was looked at, and needs the link both raw and divided."""
    visible: bool
    """Its p-value is at or below alpha."""
    independent: bool | None = None
    """Still linked, given the visible factors that tell more; None where that was not asked."""
    r2: float | None
    """Share of the outcome's variance that goes linearly with the column."""
    slow_median: float
    """Of the column, in the worst class; of an indicator it is the mean."""
    fast_median: float
    """The same in the best class."""
    importance_low: float | None = None
    """95 % interval of `importance`; None where few trees lost by it, or runs depend on each other."""
    importance_high: float | None = None


class FactorAssociation(ColumnAssociation):
    """A cluster as a search found it."""

    name: str
    """The setting; else the member with the highest priority, then the strongest link to slowness."""
    role: Literal["factor", "setting"]
    """setting: varied on purpose."""
    direction: Literal["more", "less"]
    """What slow runs have of it."""
    auc_per_unit: float | None = None
    """The AUC nearest to 0.5 of those divided; None for what is not divided."""
    eta2: float | None = None
    """Of a setting with few values: share of the outcome's variance between them."""
    eta2_log: float | None = None
    """The same for the logarithm of a positive outcome."""
    importance: float | None = None
    """Balanced accuracy lost on unseen runs when the cluster is shuffled.

    Trees see the visible factors that are independent, or all clusters where none is visible; None for the others.
    """
    stability: float | None = None
    """Share of subsamples in which it is among the top three."""


class Association(FiniteResult):
    """What goes with slow runs: association, not cause."""

    p_value: float
    """Of the whole search, pairs included: that chance alone would show anything so strongly."""
    factors: tuple[FactorAssociation, ...] = ()
    """The most convincing first; those that are not visible too."""
    set_aside: Mapping[str, str] = {}
    interactions: tuple[Interaction, ...] = ()
    """Visible pairs, the most convincing first."""
    clusters: int = 0
    """That were searched."""
    pairs: int = 0
    """That were searched."""
    block: int = 1
    """Neighbouring runs that depend on each other; above 1, chance kept the spectrum of the labels."""
    trend_terms: int = 0
    """Polynomials of the run number that were taken out before."""
    sampled: int | None = None
    """Runs behind importance, stability, independence and pairs, where the table was too large for all."""
    warnings: tuple[str, ...] = ()
