"""The hosts that runs were made on: how many runs, how fast, which are slow, and what is different there.

Each host is held against all others with its runs as the sample, so that the p-value is of these runs; how much hosts
differ as such is a question for a model of several levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import mannwhitneyu

from ..layers.schema import Column, Layer
from .many import SLOT
from .row import Row
from .statistics.values import FloatArray
from .subject import Frozen

LEAST_RUNS = 8
"""Of a host, and of the others together, to say anything."""
ODD = 1.05
"""A host whose median is this much worse than that of the others is told."""
APART = 0.9
"""Chance that a run of the slow host shows more (or less) of a column than one of the others, to be told."""
MOST_COLUMNS = 3


class Telling(Frozen):
    """A column that is different on a slow host, for each second of the run where it adds up."""

    column: str
    there: float
    """Median over its runs."""
    elsewhere: float | None
    """None where no other host counts it."""


class SlowHost(Frozen):
    """A host that is slower than the others."""

    host: str
    ratio: float
    """Its median over the median of the others' medians; below 1 where higher is better."""
    p_value: float
    """Mann and Whitney (1947), two-sided, adjusted for all hosts by Holm."""
    telling: tuple[Telling, ...]


class Hosts(Frozen):
    """What a series of runs says of its hosts."""

    runs: dict[str, int]
    """That count, by host."""
    medians: dict[str, float]
    """Of the outcome, in its unit."""
    slow: tuple[SlowHost, ...]
    lost: tuple[str, ...] = ()
    """Hosts that were lost meanwhile, in words."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should hear."""
        slow = sorted(self.slow, key=lambda one: one.p_value)
        return (*map(_sentence, slow), *(f"{line[0].upper()}{line[1:]}." for line in self.lost))


def _sentence(slow: SlowHost) -> str:
    by = f"{slow.ratio:.3g} times the median of the other hosts (p {slow.p_value:.2g})"
    shown = [f"{one.column} {one.there:.4g} there and {_elsewhere(one)}" for one in slow.telling]
    return f"{slow.host} is slow: {by}" + (f"; different there: {'; '.join(shown)}." if shown else ".")


def _elsewhere(telling: Telling) -> str:
    return "not counted elsewhere" if telling.elsewhere is None else f"{telling.elsewhere:.4g} elsewhere"


def hosts_of(
    rows: Sequence[Row], layers: Mapping[str, Layer], *, lower_is_better: bool, alpha: float, lost: Sequence[str] = ()
) -> Hosts | None:
    """Look at the runs that count, host by host; None where they were made on this machine."""
    counted = [row for row in rows if row["ok"] == 1]
    if not counted or SLOT.name not in counted[0]:
        return None
    names = np.array([row["host"] for row in counted])
    outcome = np.array([row["outcome"] for row in counted], dtype=np.float64)
    medians = {host: float(np.median(outcome[names == host])) for host in sorted(set(names.tolist()))}
    tested = {host: _p_value(outcome, names == host) for host in medians}
    slow = [
        SlowHost(host=host, ratio=ratio, p_value=p_value, telling=_telling(counted, names == host, layers))
        for host, p_value in _holm(tested).items()
        if p_value < alpha and (ratio := _ratio(host, medians)) and (ratio if lower_is_better else 1 / ratio) >= ODD
    ]
    runs = {host: int((names == host).sum()) for host in medians}
    return Hosts(runs=runs, medians=medians, slow=tuple(slow), lost=tuple(lost))


def _ratio(host: str, medians: Mapping[str, float]) -> float:
    others = float(np.median([value for name, value in medians.items() if name != host] or [medians[host]]))
    return medians[host] / others if others else 0.0


def _p_value(values: FloatArray, own: np.typing.NDArray[np.bool_]) -> float:
    if min(own.sum(), (~own).sum()) < LEAST_RUNS:
        return 1.0
    return float(mannwhitneyu(values[own], values[~own]).pvalue)


def _holm(found: Mapping[str, float]) -> dict[str, float]:
    """Adjust for all that were looked at (Holm 1979)."""
    adjusted, last = dict[str, float](), 0.0
    for place, (name, p_value) in enumerate(sorted(found.items(), key=lambda item: item[1])):
        last = max(last, min(1.0, p_value * (len(found) - place)))
        adjusted[name] = last
    return adjusted


def _telling(rows: Sequence[Row], own: np.typing.NDArray[np.bool_], layers: Mapping[str, Layer]) -> tuple[Telling, ...]:
    """Columns in which a host stands apart: those that the others do not have at all first."""
    found: list[tuple[bool, float, Telling]] = []
    for column in _factors(rows, layers):
        read = _read(rows, column)
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
    above = float(mannwhitneyu(there, elsewhere).statistic) / (there.size * elsewhere.size)
    return max(above, 1 - above)


def _factors(rows: Sequence[Row], layers: Mapping[str, Layer]) -> list[Column]:
    """Columns that may be a cause: not what grows because a run is slow."""
    names = sorted(set().union(*rows))
    described = [next((column for layer in layers.values() if (column := layer.column(name))), None) for name in names]
    return [column for column in described if column and column.role == "factor" and column.type == "number"]


def _read(rows: Sequence[Row], column: Column) -> FloatArray:
    """Values of a column; what adds up over a run for each second of it, since slow runs show more of everything."""
    cells = np.array([row.get(column.name, np.nan) for row in rows], dtype=np.float64)
    return cells if column.level else cells / np.array([row["wall_s"] for row in rows], dtype=np.float64)
