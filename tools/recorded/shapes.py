"""What the user asks of a recorded table, and what the statistics get to see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..statistics.values import FloatArray, IntArray

NO_ORDER = "none"


@dataclass(frozen=True)
class ColumnOptions:
    """What the user asks for; None and () leave it to the table."""

    outcome: str | None = None
    lower_is_better: bool | None = None
    group: tuple[str, ...] = ()
    """Columns whose combinations are looked at one by one."""
    settings: tuple[str, ...] = ()
    """Columns that were varied on purpose."""
    exclude: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """Columns that do not add up over a run."""
    order: str | None = None
    """The column that gives the order of the runs; `none`: their order means nothing."""


@dataclass(frozen=True)
class Observations:
    """Outcomes and columns of one group of runs, all finite, in run order."""

    outcome_name: str
    unit: str
    lower_is_better: bool
    outcome: FloatArray
    """Shape (runs,)."""
    names: tuple[str, ...]
    values: FloatArray
    """Shape (runs, columns), Fortran order; no column is constant; text settings are indicators named `host=a`."""
    rows: IntArray
    """Shape (runs,): the row of `Recorded.frame` that each run stands in."""
    ordered: bool
    """False where the order of the runs is unknown or means nothing."""
    assumed: bool = False
    """Nobody said what the order is: that of the file was taken."""
    runs: IntArray | None = None
    """Shape (rows,): the run that each row is a sample of, its median taken out of all values; None: rows are runs."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Text setting to its indicators."""
    settings: frozenset[str] = frozenset()
    """Names that were varied on purpose, indicators included."""
    levels: frozenset[str] = frozenset()
    """Names that are not to be divided by the outcome, settings included."""
    rates: frozenset[str] = frozenset()
    """As `layers.schema.Column.rate`: multiplied by the outcome instead."""
    roles: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    most_us: Mapping[str, float] = field(default_factory=dict)
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Column to the reason why nothing is asked of it."""
    warnings: tuple[str, ...] = ()

    def after(self, first: int) -> Observations:
        """Leave out the first runs; what then never changes is set aside."""
        if not first:
            return self
        values = self.values[first:]
        varies = (values != values[:1]).any(axis=0) if values.size else np.zeros(len(self.names), dtype=np.bool_)
        keep = np.flatnonzero(varies)
        gone = {
            name: "the same in every run after warm-up"
            for name, does in zip(self.names, varies, strict=True)
            if not does
        }
        groups = {setting: tuple(m for m in members if m not in gone) for setting, members in self.groups.items()}
        return replace(
            self,
            outcome=self.outcome[first:],
            names=tuple(self.names[place] for place in keep),
            values=np.asfortranarray(values[:, keep]),
            rows=self.rows[first:],
            runs=None if self.runs is None else self.runs[first:],
            groups={setting: members for setting, members in groups.items() if members},
            set_aside={**self.set_aside, **gone},
        )
