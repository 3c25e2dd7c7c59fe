"""Bring hosts to one level: what they differ by as such says nothing of conditions that were compared within each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..layers.launcher import HOST
from .many import SLOT
from .row import Row


class Level(NamedTuple):
    """How the outcomes of a host come to the level of all."""

    factor: float = 1.0
    added: float = 0.0

    def of(self, row: Row) -> Row:
        """Bring a row there."""
        if row["outcome"] is None:
            return row
        return {**row, "outcome": row["outcome"] * self.factor + self.added}


def host_levels(rows: Sequence[Row], condition: str = "condition") -> Mapping[str, Level]:
    """Find for each host one factor, which brings its median of a condition to that of all hosts, for most conditions.

    The factor is the median over the conditions; where an outcome is not above zero it is a difference instead. It is
    one number a host, so that next to nothing of a spread within hosts is taken for one between them. Empty where the
    runs were made on this machine.
    """
    every: dict[str, list[float]] = defaultdict(list)
    own: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row["ok"] == 1 and SLOT.name in row:
            every[str(row[condition])].append(row["outcome"])
            own[str(row[HOST.name]), str(row[condition])].append(row["outcome"])
    positive = all(outcome > 0 for outcomes in every.values() for outcome in outcomes)
    middle = {name: float(np.median(outcomes)) for name, outcomes in every.items()}
    off: dict[str, list[float]] = defaultdict(list)
    for (host, name), outcomes in own.items():
        there = float(np.median(outcomes))
        off[host].append(middle[name] / there if positive else middle[name] - there)
    found = {host: float(np.median(each)) for host, each in off.items()}
    return {host: Level(factor=one) if positive else Level(added=one) for host, one in found.items()}


def on_one_level(
    rows: Sequence[Row], levels: Mapping[str, Level] | None = None, condition: str = "condition"
) -> list[Row]:
    """Bring rows of many hosts to one level; those of this machine stay as they are."""
    found = host_levels(rows, condition) if levels is None else levels
    return [
        found[str(row[HOST.name])].of(row) if row.get(HOST.name) in found and SLOT.name in row else row for row in rows
    ]
