"""Bring hosts to one level: what they differ by as such says nothing of conditions that were compared within each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..layers.launcher import HOST
from .many import SLOT
from .row import Row


class HostAdjustment(NamedTuple):
    """How the outcomes of a host come to the level of all."""

    factor: float = 1.0
    added: float = 0.0

    def of(self, row: Row) -> Row:
        """Bring a row there."""
        if row["outcome"] is None:
            return row
        return {**row, "outcome": row["outcome"] * self.factor + self.added}


def host_levels(rows: Sequence[Row]) -> Mapping[str, HostAdjustment]:
    """Find for each host one factor, which brings its median of a condition to that of all hosts, for most conditions.

    The factor is the median over the conditions, each with the weight of its precision there (runs over the variance
    within hosts), so that a condition that hardly scatters tells the level and not those that do; where an outcome is
    not above zero it is a difference instead. It is one number a host, so that next to nothing of a spread within hosts
    is taken for one between them. Empty where the runs were made on this machine.
    """
    own: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["ok"] == 1 and SLOT.name in row:
            own[str(row["condition"])][str(row[HOST.name])].append(row["outcome"])
    positive = all(outcome > 0 for hosts in own.values() for outcomes in hosts.values() for outcome in outcomes)
    off: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for hosts in own.values():
        middle = float(np.median([outcome for outcomes in hosts.values() for outcome in outcomes]))
        scale = _scatter(hosts.values()) / (middle if positive else 1.0)
        for host, outcomes in hosts.items():
            there = float(np.median(outcomes))
            off[host].append((middle / there if positive else middle - there, _precision(len(outcomes), scale)))
    found = {host: _median(*zip(*each, strict=True)) for host, each in off.items()}
    return {host: HostAdjustment(factor=one) if positive else HostAdjustment(added=one) for host, one in found.items()}


def _scatter(hosts: Collection[Sequence[float]]) -> float:
    """SD within hosts, from the runs of one condition by host; infinite where no host has two."""
    free = sum(len(outcomes) - 1 for outcomes in hosts)
    squares = sum(float(np.var(outcomes)) * len(outcomes) for outcomes in hosts)
    return math.sqrt(squares / free) if free else math.inf


def _precision(runs: int, scale: float) -> float:
    return runs / scale**2 if scale else math.inf


def _median(values: Sequence[float], weights: Sequence[float]) -> float:
    """Give the weighted median; infinite weights are of equal runs, and zero ones of single runs."""
    weight = np.asarray(weights)
    if np.isinf(weight).any():
        weight = np.isinf(weight).astype(np.float64)
    if not weight.any():
        return float(np.median(values))
    return float(np.quantile(values, 0.5, weights=weight, method="inverted_cdf"))


def on_one_level(rows: Sequence[Row], levels: Mapping[str, HostAdjustment] | None = None) -> list[Row]:
    """Bring rows of many hosts to one level; those of this machine stay as they are."""
    found = host_levels(rows) if levels is None else levels
    return [
        found[str(row[HOST.name])].of(row) if row.get(HOST.name) in found and SLOT.name in row else row for row in rows
    ]
