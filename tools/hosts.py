"""The hosts that runs were made on: how many runs, how fast, which are odd, and what is different there.

A host is odd where it lies further from the others than ordinary hosts do, with one price paid for all of them, as in
`vgo-agent analyze --by node`; how much of the variance lies between hosts comes from a model of two levels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from pydantic import Field

from ..knowledge.shape import Frozen, is_none
from ..layers.launcher import HOST
from ..layers.schema import Column, Layer
from .row import Row
from .statistics.fleet.levels import Drained, drained, levels, odd
from .statistics.fleet.shares import Shares, shares
from .statistics.values import BoolArray, FloatArray, IntervalEstimate, auc

SLOT = Column(name="slot", description="Place of the worker on its host.", unit="place", role="setting", level=True)
"""Only runs of many hosts have it."""
FLEET = Layer(
    key="fleet",
    description="Where and when each run was made, of several hosts.",
    columns=(
        HOST,
        SLOT,
        Column(
            name="machine",
            description="SHA-256 of the description of the host, its first 12 digits; hosts.json has it.",
            unit="",
            type="text",
            role="setting",
        ),
        Column(
            name="began_s",
            description="When the run began: seconds since 1970, the clocks of the hosts brought to ours.",
            unit="s",
            role="setting",
            level=True,
        ),
    ),
)
LEAST_RUNS = 8
"""Of a host, to say anything of it."""
MARGIN = 0.05
"""A host that is less than this much worse than the others is not told."""
APART = 0.9
"""Chance that a run of the slow host shows more (or less) of a column than one of the others, to be told."""
MOST_COLUMNS = 3


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


class Telling(Frozen):
    """A column that is different on a slow host, for each second of the run where it adds up."""

    column: str
    there: float
    """Median over its runs."""
    elsewhere: float | None
    """None where no other host counts it."""


class SlowHost(Frozen):
    """A host whose runs take longer than those of the others."""

    host: str
    ratio: float
    """Of where it stands to the median host; below 1 where higher is better."""
    interval: IntervalEstimate | None = Field(default=None, exclude_if=is_none)
    """Of that ratio, 95 % for all hosts together; None in a record of an older version."""
    p_value: float
    """Adjusted for all hosts, for speed and spread together, by the greatest statistic of simulated fleets (maxT,
    Westfall and Young 1993)."""
    telling: tuple[Telling, ...]


class Hosts(Frozen):
    """What a series of runs says of its hosts."""

    runs: dict[str, int]
    """That count, by host."""
    medians: dict[str, float]
    """Of the outcome, in its unit."""
    slow: tuple[SlowHost, ...]
    shares: Shares | None = Field(default=None, exclude_if=is_none)
    """How much of the variance lies between hosts; None where fewer than two have enough runs."""
    drained: Drained | None = Field(default=None, exclude_if=is_none)
    """All runs without the slow hosts."""
    lost: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should hear."""
        slow = sorted(self.slow, key=lambda one: one.p_value)
        return (*map(_sentence, slow), *self.drain, *(f"{line[0].upper()}{line[1:]}." for line in self.lost))

    @property
    def drain(self) -> tuple[str, ...]:
        """What taking the slow hosts out would do, in one sentence; empty where none is slow."""
        one = self.drained
        if one is None:
            return ()
        names = ", ".join(slow.host for slow in self.slow)
        low, high, them = one.sd_interval.low, one.sd_interval.high, "it" if len(self.slow) == 1 else "them"
        return (
            f"Drain {names}: without {them} the SD of all runs is {one.sd_ratio:.3g} "
            f"[{low:.3g}, {high:.3g}] and the mean {one.mean_ratio:.3g} of what they are.",
        )


def _sentence(slow: SlowHost) -> str:
    within = f" [{slow.interval.low:.3g}, {slow.interval.high:.3g}]" if slow.interval else ""
    by = f"{slow.ratio:.3g}{within} times the median host (p {slow.p_value:.2g}, for all hosts together)"
    shown = [f"{one.column} {one.there:.4g} there and {_elsewhere(one)}" for one in slow.telling]
    return f"{slow.host} is slow: {by}" + (f"; different there: {'; '.join(shown)}." if shown else ".")


def _elsewhere(telling: Telling) -> str:
    return "not counted elsewhere" if telling.elsewhere is None else f"{telling.elsewhere:.4g} elsewhere"


def hosts_of(
    rows: Sequence[Row], layers: Mapping[str, Layer], *, lower_is_better: bool, alpha: float, lost: Sequence[str] = ()
) -> Hosts | None:
    """Look at the runs that count, host by host; None where they were made on this machine."""
    counted = [row for row in rows if row["ok"] == 1]
    if not any(SLOT.name in row for row in counted):
        return None
    host, values = np.array([row["host"] for row in counted]), _cells(counted, "outcome")
    runs = {name: int((host == name).sum()) for name in np.unique(host).tolist()}
    medians = {name: float(np.median(values[host == name])) for name in runs}
    found = Hosts(runs=runs, medians=medians, slow=(), lost=tuple(lost))
    table = [row for row in counted if runs[row["host"]] >= LEAST_RUNS]
    asked, codes = np.unique([row["host"] for row in table], return_inverse=True)
    if len(asked) < 2 or values.min() <= 0:  # hosts are compared by ratios
        return found
    outcome = _cells(table, "outcome")
    estimates = levels(outcome, codes, asked.tolist())
    # Half of alpha is for the spread of hosts, which `vgo-agent analyze --by node` and the report look at beside.
    standing = odd(
        estimates.location, estimates.location_error, estimates.runs, margin=math.log1p(MARGIN), alpha=alpha / 2
    )
    slow = standing.odd & (standing.deviation > 0 if lower_is_better else standing.deviation < 0)
    told = tuple(
        SlowHost(
            host=str(asked[place]),
            **standing.of(place).model_dump(exclude={"odd"}),
            telling=_telling(table, codes == place, layers),
        )
        for place in np.flatnonzero(slow).tolist()
    )
    drain = drained(outcome, codes, slow) if slow.any() else None
    return found.model_copy(update={"slow": told, "shares": shares(outcome, codes), "drained": drain})


def _cells(table: Sequence[Row], name: str) -> FloatArray:
    return np.array([row.get(name) for row in table], dtype=np.float64)  # None, too, is NaN


def _telling(table: Sequence[Row], own: BoolArray, layers: Mapping[str, Layer]) -> tuple[Telling, ...]:
    """Columns in which a host stands apart: those that the others do not have at all first.

    What adds up over a run counts for each second of it, since slow runs show more of everything.
    """
    found: list[tuple[bool, float, Telling]] = []
    for column in _factors(table, layers):
        cells = _cells(table, column.name)
        read = cells if column.level else cells / _cells(table, "wall_s")
        there, elsewhere = (values[np.isfinite(values)] for values in (read[own], read[~own]))
        apart = _apart(there, elsewhere)
        if apart >= APART:
            other = float(np.median(elsewhere)) if elsewhere.size else None
            told = Telling(column=column.name, there=float(np.median(there)), elsewhere=other)
            found.append((not elsewhere.any(), apart, told))
    found.sort(key=lambda one: (not one[0], -one[1], one[2].column))
    return tuple(told for _, _, told in found[:MOST_COLUMNS])


def _apart(there: FloatArray, elsewhere: FloatArray) -> float:
    """Chance that a value there is above one from elsewhere, or below, whichever is larger."""
    if there.size < LEAST_RUNS or 0 < elsewhere.size < LEAST_RUNS:
        return 0.0
    if not elsewhere.size:
        return float(np.mean(there != 0))
    both = np.concatenate((there, elsewhere))[:, None]
    above = float(auc(both, np.arange(both.size) < there.size)[0])
    return max(above, 1 - above)


def _factors(table: Sequence[Row], layers: Mapping[str, Layer]) -> list[Column]:
    """Columns that may be a cause: not what grows because a run is slow."""
    known = [[layer.column(name) for layer in layers.values()] for name in sorted({*chain(*table)})]
    described = [next(filter(None, columns), None) for columns in known]
    return [column for column in described if column and column.role == "factor" and column.type == "number"]
