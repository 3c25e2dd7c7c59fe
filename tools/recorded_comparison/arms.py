"""The arms of a comparison: which rows of which table, and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..recorded.columns import listed, nearest, numeric
from ..recorded.draft import runs_of
from ..recorded.outcome import lower_is_better, outcome_column, unit_columns
from ..recorded.recorded import ColumnOptions, RecordedRuns
from ..statistics.values import FloatArray, IntArray

MOST_ARMS = 50


@dataclass(frozen=True)
class Contrast:
    """Which runs to compare, and how; None and () leave it to the tables."""

    metric: str | None = None
    condition: str | None = None
    """The column of one table whose values are the arms; None: every table is an arm."""
    among: tuple[str, ...] = ()
    """Those of its values that count, the baseline first; () for all."""
    baseline: str | None = None
    """The arm that the others are held against; None for the first."""
    where: tuple[tuple[str, str], ...] = ()
    """Only runs whose column has one of the values given for it."""
    paired: bool = False
    pair: tuple[str, ...] = ()
    """Columns that two runs of one pair have in common; () with `paired`: row by row."""
    by: tuple[str, ...] = ()
    """Columns whose combinations of values are cells, within which the arms are compared."""
    lower_is_better: bool | None = None
    alpha: float = 0.05
    seed: int = 1

    @property
    def in_pairs(self) -> bool:
        """Tell whether runs of the arms belong together two by two."""
        return self.paired or bool(self.pair)


@dataclass(frozen=True)
class RecordedArm:
    """One condition."""

    name: str
    recorded: RecordedRuns
    """With the rows of this arm only, in run order."""
    metric: str
    values: FloatArray
    """Shape (rows,); NaN where missing."""
    runs: IntArray
    """Shape (rows,): the run that each row is a sample of, or its block where conditions took turns by block."""
    blocks: bool
    """Some rows are of blocks."""
    unit: str
    lower_is_better: bool
    assumed: str
    """What was assumed about the direction; empty where it is known."""


def arms(tables: Sequence[RecordedRuns], contrast: Contrast) -> list[RecordedArm]:
    """Split into arms, the baseline first; refuses what cannot be compared in one sentence."""
    metric = _metric(tables, contrast)
    tables = [_narrowed(_filtered(table, contrast), contrast) for table in tables]
    parts = _conditions(tables[0], contrast) if len(tables) == 1 else _files(tables)
    named = [_arm(name, part, metric, contrast) for name, part in parts]
    units = {arm.unit for arm in named if arm.unit}
    if len(units) > 1:
        told = listed([f"{arm.name} is in {arm.unit}" for arm in named if arm.unit], 4)
        raise VgoError(f"The units of {metric} differ ({told}): convert them to one.")
    return _baseline_first(named, contrast)


def _metric(tables: Sequence[RecordedRuns], contrast: Contrast) -> str:
    """The column to compare, which every table must have."""
    metric = contrast.metric or tables[0].outcome or _only_numbers(tables[0], contrast)
    for table in tables:
        if metric is None:
            raise VgoError(
                f"Name what to compare in {table.source} with --metric: one of {listed(numeric(table.frame))}."
            )
        if metric not in table.frame.columns:
            there = numeric(table.frame) or table.frame.columns
            raise VgoError(f"{table.source} has no column {metric} (--metric): {nearest(metric, there)}.")
    assert metric is not None
    return metric


def _only_numbers(table: RecordedRuns, contrast: Contrast) -> str | None:
    """The one column of numbers that neither tells arms nor pairs nor runs apart, if there is just one."""
    asked = {contrast.condition, *contrast.pair, *(column for column, _ in contrast.where)}
    asked |= {name for name, role in table.roles.items() if role in ("order", "id")}
    there = [name for name in numeric(table.frame) if name not in asked]
    return there[0] if len(there) == 1 else None


def _filtered(table: RecordedRuns, contrast: Contrast) -> RecordedRuns:
    """Keep the rows that --where asks for."""
    asked: dict[str, list[str]] = {}
    for name, value in contrast.where:
        asked.setdefault(name, []).append(value)
    for name, values in asked.items():
        column = column_of(table, name, "--where")
        kept = table.frame.filter(_is_one_of(column, [one for value in values for one in _alternatives(column, value)]))
        if kept.is_empty():
            raise VgoError(f"No run of {table.source} has {name}={listed(values, 4, 'or')}: {_has(column)}.")
        table = replace(table, frame=kept)
    return table


def _alternatives(column: pl.Series, value: str) -> list[str]:
    """Take a value as it stands, or for several with commas between where it is none."""
    if "," not in value or _is_one_of(column, [value]).any():
        return [value]
    return [word.strip() for word in value.split(",")]


def _narrowed(table: RecordedRuns, contrast: Contrast) -> RecordedRuns:
    """Keep the usual rows, unless their column is the condition or was asked for."""
    asked = {contrast.condition, *(column for column, _ in contrast.where)}
    usual = {name: value for name, value in table.usual.items() if name not in asked and name in table.frame.columns}
    if contrast.condition is None and len(usual) != len(table.usual):
        return table
    for name, value in usual.items():
        table = replace(table, frame=table.frame.filter(_is_one_of(table.frame[name], [value])))
    return table


def _conditions(table: RecordedRuns, contrast: Contrast) -> list[tuple[str, RecordedRuns]]:
    if contrast.condition is None:
        raise VgoError(f"{table.source} alone has no two arms: give a second table, or --condition {_may_be(table)}.")
    column = column_of(table, contrast.condition, "--condition")
    names = list(contrast.among) or column.cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    if len(names) > MOST_ARMS:
        raise VgoError(f"{column.name} has {len(names)} values: choose some with --condition {column.name}=A,B.")
    parts = [(name, replace(table, frame=table.frame.filter(_is_one_of(column, [name])))) for name in names]
    empty = next((name for name, part in parts if part.frame.is_empty()), None)
    if empty is not None:
        raise VgoError(f"No run of {table.source} has {column.name}={empty} (--condition): {_has(column)}.")
    if len(parts) < 2:
        raise VgoError(f"{column.name} is {names[0] if names else 'missing'} in every run: two arms differ in it.")
    return parts


def _files(tables: Sequence[RecordedRuns]) -> list[tuple[str, RecordedRuns]]:
    """Name each arm as short as tells them apart."""
    short = [Path(table.source).name for table in tables]
    names = short if len(set(short)) == len(short) else [table.source for table in tables]
    seen = Counter(names)
    return [
        (name if seen[name] == 1 else f"{name} #{place}", table)
        for place, (name, table) in enumerate(zip(names, tables, strict=True), 1)
    ]


def _arm(name: str, part: RecordedRuns, metric: str, contrast: Contrast) -> RecordedArm:
    if part.frame.is_empty():
        raise VgoError(f"{part.source} has no run to compare: loosen --where.")
    beside = [c for c in unit_columns(metric) if c in part.frame.columns and c != contrast.condition]
    told = {column: part.frame[column].drop_nulls().unique().sort().to_list() for column in beside}
    mixed = next((column for column, units in told.items() if len(units) > 1), None)
    if mixed:
        units = told[mixed]
        raise VgoError(f"The runs of {name} are in several units ({listed(units)}): give --where {mixed}={units[0]}.")
    found = outcome_column(part, ColumnOptions(outcome=metric))
    unit = next((str(units[0]) for units in told.values() if units), found.unit)
    lower, assumed = lower_is_better(part, ColumnOptions(lower_is_better=contrast.lower_is_better), metric, unit)
    runs = int(np.isfinite(found.values).sum())
    if runs < 2:
        raise VgoError(f"{name} has {runs} run{'s' * (runs != 1)} with a {metric}: a spread takes at least two.")
    together, blocks = _together(part)
    return RecordedArm(name, part, metric, found.values, together, blocks, unit, lower, assumed)


def _together(part: RecordedRuns) -> tuple[IntArray, bool]:
    """Number what is exchanged whole: the block of a row where it has one, else its run."""
    frame, runs = part.frame, runs_of(part.frame)
    if part.format != "vgo-agent" or "block" not in frame.columns or frame["block"].null_count() == frame.height:
        return runs, False
    key = pl.struct("call", "block", pl.when(pl.col("block").is_null()).then(pl.Series(runs)))
    numbers: IntArray = frame.select(key.rank("dense")).to_series().to_numpy().astype(np.int64)
    return numbers, True


def _baseline_first(found: list[RecordedArm], contrast: Contrast) -> list[RecordedArm]:
    if contrast.baseline is None:
        # A diagnosis calls it so; any other table is taken in its own order.
        return sorted(found, key=lambda arm: arm.name != arm.recorded.usual.get(contrast.condition or ""))
    chosen = [arm for arm in found if contrast.baseline in (arm.name, arm.recorded.source)]
    if not chosen:
        names = [arm.name for arm in found]
        raise VgoError(f"No arm is called {contrast.baseline} (--baseline): {nearest(contrast.baseline, names)}.")
    return [chosen[0], *(arm for arm in found if arm is not chosen[0])]


def column_of(table: RecordedRuns, name: str, option: str) -> pl.Series:
    """Give the column that an option names; VgoError where there is none."""
    if name not in table.frame.columns:
        raise VgoError(f"{table.source} has no column {name} ({option}): {nearest(name, table.frame.columns)}.")
    return table.frame[name]


def _is_one_of(column: pl.Series, values: Collection[str]) -> pl.Series:
    """Compare as numbers where the column holds numbers, so that 4 is 4.0."""
    if column.dtype.is_numeric():
        numbers = [number for value in values if (number := _number(value)) is not None]
        return column.cast(pl.Float64).is_in(numbers).fill_null(False)
    return column.cast(pl.String).is_in(list(values)).fill_null(False)


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _has(column: pl.Series) -> str:
    return f"it has {listed(column.drop_nulls().unique(maintain_order=True).cast(pl.String).to_list(), 8)}"


def _may_be(table: RecordedRuns) -> str:
    """Columns of few values, which may be meant."""
    few = [name for name in table.frame.columns if 2 <= table.frame[name].n_unique() <= 8]
    return f"and one of {listed(few, 6, 'or')}" if few else "and a column of few values"
