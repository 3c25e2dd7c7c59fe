"""The cells of a table: runs of one configuration together, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..recorded.columns import Quantity, listed, numeric, parse, unknown
from ..recorded.outcome import lower_is_better, outcome_column
from ..recorded.recorded import ColumnOptions, RecordedRuns
from ..statistics.values import BoolArray, FloatArray, IntArray
from .axes import Level, SurfaceAxis, axis_of

Given = Literal["runs", "variance", "sd", "cv", "mean", "value"]
"""What a row holds: the outcome of one run, or a number of a whole cell."""
_OK = "ok"
_ROW = "__row__"
FEWEST_CELLS = 8
"""Cells that a surface needs."""
_MEASURES: Mapping[str, Callable[[FloatArray], float]] = {
    "sd": lambda runs: float(runs.std(ddof=1)),
    "cv": lambda runs: float(runs.std(ddof=1) / abs(runs.mean())) if runs.mean() else np.nan,
    "variance": lambda runs: float(runs.var(ddof=1)),
    "mean": lambda runs: float(runs.mean()),
    "median": lambda runs: float(np.median(runs)),
}
RESPONSES = tuple(_MEASURES)
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
FEWEST_RUNS = {"sd": 2, "cv": 2, "variance": 2}
_FROM = {"variance": ("variance", "sd"), "sd": ("variance", "sd"), "cv": ("cv",), "mean": ("mean",)}
"""What a table with a row a cell can tell, by what its rows hold."""


@dataclass(frozen=True)
class CellOutcomes:
    """Configurations and the outcomes measured in each."""

    axes: tuple[SurfaceAxis, ...]
    columns: Mapping[str, tuple[Level, ...]]
    """Setting to its value in each cell."""
    outcomes: tuple[FloatArray, ...]
    """The runs of each cell; of a table with a row a cell, what the rows say."""
    given: Given
    outcome: str
    unit: str
    lower_is_better: bool
    source: str
    notes: tuple[str, ...]
    means: tuple[FloatArray, ...] = ()
    """What another column says is the mean, of a table that gives a spread of each cell; () where there is none."""

    def part(self, places: IntArray) -> CellOutcomes:
        """Take some of the cells."""
        columns = {name: tuple(column[place] for place in places) for name, column in self.columns.items()}
        outcomes, means = (tuple(of[place] for place in places) if of else () for of in (self.outcomes, self.means))
        return replace(self, columns=columns, outcomes=outcomes, means=means)


@dataclass(frozen=True)
class SurfaceOptions:
    """What the user says about the table; () and None leave it to the table."""

    settings: tuple[str, ...] = ()
    outcome: str | None = None
    given: Given = "runs"
    mean: str | None = None
    lower_is_better: bool | None = None


def cells(recorded: RecordedRuns, asked: SurfaceOptions) -> CellOutcomes:
    """Gather the runs of each configuration; raises VgoError where no surface can be made of the table."""
    wanted = ColumnOptions(outcome=asked.outcome, lower_is_better=asked.lower_is_better)
    outcome = outcome_column(recorded, wanted)
    lower, assumed = lower_is_better(recorded, wanted, outcome.name, outcome.unit)
    settings = _settings(recorded, asked, outcome.name)
    notes = [*recorded.notes, *outcome.warnings, *([assumed] if assumed and asked.given in ("runs", "mean") else [])]
    means = _means(recorded, asked)
    frame = recorded.frame.select(_setting(recorded.frame[name]) for name in settings)
    keep = _counted(recorded, outcome.values, frame, notes)
    frame = frame.with_columns(pl.Series(_ROW, np.arange(frame.height))).filter(keep)
    varied = [name for name in settings if frame[name].n_unique() > 1]
    if not varied:
        raise VgoError(
            f"{listed(settings)} {'has' if len(settings) == 1 else 'have'} one level alone in {recorded.source}: vary "
            "a setting, and record again."
        )
    notes += [f"{name} is always {_shown(frame[name][0])}: left out." for name in settings if name not in varied]
    grouped = frame.group_by(varied, maintain_order=True).agg(_ROW).sort(varied)
    if grouped.height < FEWEST_CELLS:
        raise VgoError(
            f"{recorded.source} has {grouped.height} cells; a surface needs {FEWEST_CELLS} or more: record more."
        )
    columns = {name: tuple(grouped[name].to_list()) for name in varied}
    rows = [np.array(part) for part in grouped[_ROW].to_list()]
    doubled = sum(len(part) > 1 for part in rows)
    if asked.given != "runs" and doubled:
        notes.append(f"{doubled} configurations stand in the table more than once: their rows were averaged.")
    return CellOutcomes(
        axes=tuple(axis_of(name, columns[name], recorded.units.get(name, "")) for name in varied),
        columns=columns,
        outcomes=tuple(outcome.values[part] for part in rows),
        given=asked.given,
        outcome=outcome.name,
        unit=outcome.unit,
        lower_is_better=lower,
        source=recorded.source,
        notes=tuple(notes),
        means=() if means is None else tuple(means[part] for part in rows),
    )


def _means(recorded: RecordedRuns, asked: SurfaceOptions) -> FloatArray | None:
    """Read the mean of each row, where the table gives one beside its spread."""
    if asked.mean is None:
        return None
    if asked.given not in ("variance", "sd", "cv"):
        raise VgoError("--mean names the mean beside a spread: give --given variance, sd or cv too.")
    means = outcome_column(recorded, ColumnOptions(outcome=asked.mean)).values
    if not np.isfinite(means).all():
        raise VgoError(f"{asked.mean} is missing in some rows of {recorded.source}: leave out --mean.")
    return means


def _shown(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _settings(recorded: RecordedRuns, asked: SurfaceOptions, outcome: str) -> Sequence[str]:
    """Take the settings that were named, or those that the table says were varied."""
    there = recorded.frame.columns
    for name in asked.settings:
        if name not in there:
            raise unknown(name, "--settings", recorded.source, there)
        if name == outcome:
            raise VgoError(f"{name} is the outcome: take it out of --settings.")
    named = asked.settings or tuple(name for name in there if recorded.roles.get(name) == "setting" and name != outcome)
    if not named:
        columns = listed([name for name in there if name not in (outcome, _OK)])
        raise VgoError(f"Name what was varied in {recorded.source} with --settings: some of {columns}.")
    return tuple(dict.fromkeys(named))


def _setting(column: pl.Series) -> pl.Series:
    """Read a setting as numbers where it is one, else as names; empty text is missing."""
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    text = column.cast(pl.String)
    read = parse(text) if column.dtype == pl.String else None
    if isinstance(read, Quantity) and not read.unread:
        return read.numbers.alias(column.name)
    return text.set(text.str.strip_chars() == "", None)


def _counted(recorded: RecordedRuns, values: FloatArray, settings: pl.DataFrame, notes: list[str]) -> BoolArray:
    """Say which rows count: those that did not fail, with an outcome and all settings."""
    keep = np.ones(len(values), dtype=np.bool_)
    if _OK in numeric(recorded.frame) or recorded.frame.schema.get(_OK) == pl.Boolean:
        keep &= recorded.frame[_OK].cast(pl.Float64).fill_null(1.0).to_numpy() != 0
        _tell(notes, int((~keep).sum()), "runs failed")
    missing = keep & ~np.isfinite(values)
    _tell(notes, int(missing.sum()), "rows have no finite outcome")
    gaps = keep & ~missing & settings.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
    _tell(notes, int(gaps.sum()), "rows have a setting without a value")
    keep &= ~missing & ~gaps
    if not keep.any():
        raise VgoError(f"No row of {recorded.source} has an outcome and all settings: name other columns.")
    return keep


def _tell(notes: list[str], count: int, why: str) -> None:
    if count:
        notes.append(f"{count} {why}: left out.")


class Response(NamedTuple):
    """One number a cell."""

    values: FloatArray
    """Shape (cells,); NaN where it cannot be told."""
    known: BoolArray
    notes: tuple[str, ...]


def response_of(cells: CellOutcomes, name: str) -> Response:
    """Compute the response of every cell; raises VgoError for a name that is unknown or cannot be had."""
    _check(cells, name)
    if name == "mean" and cells.means:
        means = np.array([mean.mean() for mean in cells.means])
        return Response(means, np.ones(len(means), dtype=np.bool_), ())
    if cells.given != "runs":
        means = np.array([outcome.mean() for outcome in cells.outcomes])
        values = _converted(means, cells.given, name, cells)
        return Response(values, np.ones(len(values), dtype=np.bool_), ())
    fewest = FEWEST_RUNS.get(name, 1)
    known = np.array([len(outcome) >= fewest for outcome in cells.outcomes])
    if not known.any():
        raise VgoError(f"No configuration of {cells.source} has two runs or more: repeat the runs, or model the mean.")
    values = np.array([_of(outcome, name) if len(outcome) >= fewest else np.nan for outcome in cells.outcomes])
    lost = int((~known).sum())
    notes = (f"{lost} configurations have one run alone, and no spread: left out.",) if lost else ()
    return Response(values, known & np.isfinite(values), notes)


def _check(cells: CellOutcomes, name: str) -> None:
    if name not in RESPONSES and not _QUANTILE.fullmatch(name):
        raise VgoError(f"{name} is no response: choose {', '.join(RESPONSES)} or a percentile such as p95.")
    if cells.given not in ("runs", "value") and name not in _FROM[cells.given] and not (name == "mean" and cells.means):
        there = " or ".join(_FROM[cells.given])
        raise VgoError(f"{cells.source} gives the {cells.given} of a cell alone, not its {name}: model {there}.")


def _converted(values: FloatArray, given: str, name: str, cells: CellOutcomes) -> FloatArray:
    if given in ("variance", "sd", "cv") and (values < 0).any():
        raise VgoError(f"{cells.outcome} has values below 0, so it is no {given}: give another --given.")
    if given == "variance" and name == "sd":
        return np.sqrt(values)
    return values**2 if given == "sd" and name == "variance" else values


def _of(runs: FloatArray, name: str) -> float:
    if quantile := _QUANTILE.fullmatch(name):
        return float(np.quantile(runs, float(quantile[1]) / 100))
    return _MEASURES[name](runs)
