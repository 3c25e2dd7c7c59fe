"""What an analysis may look at: columns side by side, and what is known about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ..values import BoolArray, FloatArray


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
