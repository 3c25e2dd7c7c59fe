"""Kinds of runs that were thrown together: columns whose values explain most of the spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc

from .values import FiniteResult, FloatArray, IntArray, ranks_of

MOST = 0.5
"""Share of the variance of the ranks from which most of the spread lies between kinds of runs, and not within them."""
ADDS = 0.05
"""Share that one more column must add, or it only makes the cells smaller."""
LEVEL = 0.01
"""Chance that any of the columns would be taken where none of them means anything (F test on ranks, Bonferroni)."""
BOTH = 0.5
"""Share of the runs that must be in cells that every arm has: what tells the arms apart is no kind of runs."""

MOST_CELLS = 1000


class Strata(FiniteResult):
    """Columns by whose values the runs should be looked at apart."""

    columns: tuple[str, ...]
    """The one that explains most first."""
    share: float
    """Of the variance of the ranks, what lies between cells: epsilon squared, which expects 0 of columns by chance."""
    cells: int


def strata(
    outcome: FloatArray, columns: Mapping[str, IntArray], arms: IntArray, apart: Sequence[IntArray], fewest: int
) -> Strata | None:
    """Choose the columns that together explain most of the spread within the arms; None where that is less than half.

    Ranks are taken within each arm, so that neither the unit nor a wild run decides, nor what the arms differ by. Of
    the cells that are found it is asked again, on ranks within each: what makes little of the whole spread may make
    most of what is left.

    Args:
        outcome: Shape (runs,), finite.
        columns: Numbers of the values, shape (runs,), by name.
        arms: Shape (runs,): number of the arm that is compared with the others.
        apart: The same of columns by whose values the runs are looked at apart already.
        fewest: Runs that a cell of an arm must have on average.

    """
    if outcome.size < 2 * fewest:
        return None
    cells = np.zeros(outcome.size, dtype=np.int64)
    for column in apart:
        cells = _crossed(cells, column)
    whole = split = _Split.of(outcome, _numbered(arms), cells)
    chosen: tuple[str, ...] = ()
    while more := _most(split, {name: codes for name, codes in columns.items() if name not in chosen}, fewest):
        chosen += more
        for name in more:
            whole = whole.by(columns[name])
        split = _Split.of(outcome, whole.arms, whole.cells)
    return Strata(columns=chosen, share=whole.share, cells=int(whole.cells.max()) + 1) if chosen else None


def _most(split: _Split, columns: Mapping[str, IntArray], fewest: int) -> tuple[str, ...]:
    """Add columns one by one, the one first that explains most, until they make cells too small or no odds."""
    chosen: tuple[str, ...] = ()
    while fresh := {name: split.by(codes) for name, codes in columns.items() if name not in chosen}:
        sound = {name: one for name, one in fresh.items() if one.sound(fewest)}
        if not sound:
            break
        name = max(sound, key=lambda one: (round(sound[one].share, 6), -sound[one].groups))
        if sound[name].share - split.share < ADDS or sound[name].p_value(split) > LEVEL / len(columns):
            break
        chosen, split = (*chosen, name), sound[name]
    return chosen if split.share >= MOST else ()


@dataclass(frozen=True)
class _Split:
    """The runs of each arm by cell."""

    cells: IntArray
    """Shape (runs,), numbered from 0; the same number in every arm."""
    arms: IntArray
    ranks: FloatArray
    """Centred in each cell that is given, of each arm."""
    given: int
    """How many these are."""

    @classmethod
    def of(cls, outcome: FloatArray, arms: IntArray, apart: IntArray) -> _Split:
        """Rank the runs within what is given."""
        own, ranks = _crossed(arms, apart), np.empty(outcome.size)
        for one in np.unique(own):
            there = own == one
            ranks[there] = ranks_of(outcome[there]) / there.sum()
        return cls(apart, arms, ranks, int(own.max()) + 1)

    def by(self, column: IntArray) -> _Split:
        """Split every cell by the values of a column."""
        return replace(self, cells=_crossed(self.cells, column))

    @property
    def own(self) -> IntArray:
        """Cells of each arm, numbered from 0."""
        return _crossed(self.arms, self.cells)

    @property
    def groups(self) -> int:
        """How many cells of an arm there are."""
        return int(self.own.max()) + 1

    @property
    def within(self) -> float:
        """Sum of squares that is left within the cells of an arm."""
        sums, sizes = np.bincount(self.own, weights=self.ranks), np.bincount(self.own)
        return float(self.ranks @ self.ranks - (sums**2 / sizes).sum())

    @property
    def share(self) -> float:
        """Share of the variance that lies between the cells (epsilon squared)."""
        whole, freedom = float(self.ranks @ self.ranks), self.ranks.size - self.groups
        if not whole or freedom < 1:
            return 0.0
        return 1 - (self.within / freedom) / (whole / (self.ranks.size - self.given))

    def sound(self, fewest: int) -> bool:
        """Tell whether the cells are large enough, and whether enough runs are in cells that every arm has."""
        cells = int(self.cells.max()) + 1
        if self.ranks.size < fewest * self.groups or cells > MOST_CELLS:
            return False
        counts = np.zeros((int(self.arms.max()) + 1, cells), dtype=np.int64)
        np.add.at(counts, (self.arms, self.cells), 1)
        return bool(counts[:, (counts > 1).all(axis=0)].sum() >= BOTH * self.ranks.size)

    def p_value(self, coarser: _Split) -> float:
        """Chance that a finer split without meaning explains as much more than a coarser one (F test)."""
        more, freedom = self.groups - coarser.groups, self.ranks.size - self.groups
        if more < 1 or freedom < 1:
            return 1.0
        gained = max(coarser.within - self.within, 0.0)
        return float(fdtrc(more, freedom, gained / more / max(self.within / freedom, 1e-300)))


def _crossed(one: IntArray, other: IntArray) -> IntArray:
    return _numbered(one * (int(other.max(initial=0)) + 1) + other)


def _numbered(values: IntArray) -> IntArray:
    numbers: IntArray = np.unique(values, return_inverse=True)[1].ravel()
    return numbers
