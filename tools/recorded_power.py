"""How many runs an arm needs, from a table of recorded runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from ..knowledge.errors import VgoError
from .recorded.columns import numeric, refuse_beyond
from .recorded.draft import of_runs, runs_of
from .recorded.recorded import RecordedRuns
from .statistics.spread import inflation
from .statistics.stopping.power import MOST_RUNS, Power, PowerRequest, formula, simulated_power
from .statistics.values import FiniteResult, FloatArray, finite

LEAST_RECORDED = 20
FEW_RECORDED = 60


class Planned(FiniteResult):
    """The answer, and what to know before trusting it."""

    source: str
    metric: str
    unit: str
    power: Power
    notes: tuple[str, ...]


def plan(recorded: RecordedRuns, metric: str | None, wish: PowerRequest) -> Planned:
    """Simulate on the runs of one column; raise VgoError for columns that say nothing about spread."""
    there = _numeric(recorded)
    name = metric or recorded.outcome or (there[0] if len(there) == 1 else None)
    if name is None:
        raise VgoError(f"{recorded.source} does not say what a run is judged by; --metric can be {_names(recorded)}.")
    given, values = _column(recorded, name)
    power = simulated_power(values, wish, start=formula(values, wish) or LEAST_RECORDED)
    return Planned(
        source=recorded.source,
        metric=name,
        unit=recorded.units.get(name, ""),
        power=power,
        notes=tuple(_notes(recorded, given, values, power)),
    )


def _column(recorded: RecordedRuns, name: str) -> tuple[int, FloatArray]:
    """Rows of the usual runs, and their finite values in file order."""
    frame = recorded.frame
    if name not in frame.columns:
        raise VgoError(f"{recorded.source} has no column {name}; it has {_names(recorded)}.")
    usual = [pl.col(column).cast(pl.String) == value for column, value in recorded.usual.items() if column in frame]
    column = frame.filter(*usual)[name] if usual else frame[name]
    if not column.dtype.is_numeric():
        raise VgoError(f"The column {name} of {recorded.source} is not of numbers; name another by --metric.")
    refuse_beyond(recorded, name, [one for one in _numeric(recorded) if one != name])
    values = finite(column.cast(pl.Float64).drop_nulls().to_numpy())
    if values.size < LEAST_RECORDED:
        raise VgoError(
            f"{recorded.source} has {values.size} finite runs in {name}, and a shape takes at least {LEAST_RECORDED}; "
            "record more."
        )
    if values.min() == values.max():
        raise VgoError(f"All runs of {recorded.source} have the same {name}, so there is no spread to lower.")
    return column.len(), values


def _numeric(recorded: RecordedRuns) -> list[str]:
    """Columns of numbers, less those that only count or name the runs."""
    return [name for name in numeric(recorded.frame) if recorded.roles.get(name) not in ("order", "id")]


def _names(recorded: RecordedRuns) -> str:
    there = _numeric(recorded)
    return ", ".join(there[:12]) + (", ..." if len(there) > 12 else "")


def _notes(recorded: RecordedRuns, given: int, values: FloatArray, power: Power) -> Iterator[str]:
    yield from recorded.notes
    if recorded.usual:
        kept = ", ".join(f"{column} = {value}" for column, value in recorded.usual.items())
        yield f"Of the table, the runs with {kept} are used."
    if given > values.size:
        yield f"{given - values.size} of {given} runs have no finite value and are left out."
    if values.size < FEW_RECORDED:
        yield f"Only {values.size} runs show the shape: what is rarer than 1 in {values.size // 3} may be missing."
    square = inflation(values).square
    if square > 1:
        yield (
            f"Neighbouring runs resemble each other: {values.size} count as {values.size / square:.0f}. The number "
            f"holds for pairs in random order; arms measured one after the other need some {square:.1f} times as many."
        )
    if runs := of_runs(runs_of(recorded.frame)):
        each = recorded.frame.height / runs
        least = (
            f"; at {each:.0f} samples a run it is at least {math.ceil(power.runs / each)} runs" if power.runs else ""
        )
        yield (
            f"Rows are samples of {runs} runs, and samples of one run are not independent: the number counts samples"
            f"{least}, and more where runs differ from each other."
        )
    if power.runs is None:
        yield f"More than {MOST_RUNS} runs of each arm were not simulated: hope for a stronger cure, or average runs."
