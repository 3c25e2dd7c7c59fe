"""Read a recorded run table, whatever its format, and say what was understood of it and what is left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..statistics.values import FiniteResult, FloatArray
from .columns import Quantity, are_moments, countable_only, listed, parse
from .design import designs
from .formats.benchmark_json import GOOGLE_BENCHMARK, PYPERF
from .formats.delimited import CSV, DESCRIBED_CSV
from .formats.hyperfine import HYPERFINE, is_json, refuse_broken
from .formats.parquet import PARQUET, files_in, read_folder
from .formats.perf_stat import PERF_STAT
from .formats.sharp import SHARP
from .formats.vgo import VGO_AGENT, counted
from .mapping import Meanings, meant
from .outcome import lower_is_better, speaks_of_outcome
from .recorded import ColumnOptions, Format, Observations, RecordedRuns, TableSource, open_source
from .understand import ColumnClasses, GroupColumn, at_sight, understand

FORMATS: tuple[Format, ...] = (
    PARQUET,
    DESCRIBED_CSV,
    PERF_STAT,
    GOOGLE_BENCHMARK,
    PYPERF,
    HYPERFINE,
    SHARP,
    VGO_AGENT,
    CSV,
)
"""The first that recognises a file reads it."""
MOST_CANDIDATES = 12
Kind = Literal["number", "text", "truth", "time", "empty"]


def read(path: Path, leave_out: Collection[str] = (), mapping: Meanings | None = None) -> RecordedRuns:
    """Read a file, a run folder or a folder of Parquet files; the format is told by what is in it.

    `leave_out` names columns that need not be read; `mapping` says what columns are called and mean. At 1,000,000 runs
    x 200 columns (1.6 GB of numbers) the process peaks at 2.2 GB from CSV and 1.8 GB from Parquet. Raises VgoError for
    whatever cannot be read.
    """
    leave_out = mapping.in_file(leave_out) if mapping else leave_out
    recorded = read_folder(path, leave_out) if files_in(path) else _read_file(path, leave_out, mapping)
    return countable_only(meant(recorded, mapping) if mapping else recorded)


def _read_file(path: Path, leave_out: Collection[str], mapping: Meanings | None) -> RecordedRuns:
    source = open_source(path, mapping.texts if mapping else frozenset(), leave_out)
    form = next((form for form in FORMATS if form.recognises(source)), None)
    if form is None:
        raise _unknown(source)
    recorded = counted(form.read(source))
    if recorded.frame.is_empty():
        raise VgoError(f"{source.given} holds no runs: record some, or name another file.")
    left = [name for name in leave_out if name in recorded.frame.columns]
    return replace(recorded, frame=recorded.frame.drop(left), left_out=(*recorded.left_out, *left))


def _unknown(source: TableSource) -> VgoError:
    if is_json(source):
        refuse_broken(source)
        return VgoError(
            f"{source.given} is JSON, but not of pyperf, hyperfine, Google Benchmark or perf stat: "
            "export the runs as CSV, one row a run."
        )
    return VgoError(f"{source.given} is no run table: give CSV with a header line, one row a run.")


class ColumnOutline(FiniteResult):
    """One column of the file."""

    name: str
    kind: Kind
    """truth: true or false; time: dates or times of day."""
    role: str
    """outcome, factor, consequence, setting, order or id; "" where it is set aside at sight."""
    unit: str
    description: str
    missing: int
    distinct: int
    """Values that differ; a missing one is none of them."""
    low: float | None = None
    """Of the finite numbers."""
    median: float | None = None
    high: float | None = None
    set_aside: str = ""
    """Why an analysis would ask nothing of it."""


class Outline(FiniteResult):
    """What `vgo-agent analyze --read-only` shows."""

    file: str
    format: str
    rows: int
    """That were read."""
    runs: int | None = None
    """That count: the usual ones, with an outcome; None where it is not known what the outcome is."""
    outcome: str | None = None
    candidates: tuple[str, ...] = ()
    """Columns that the outcome may be, the likeliest first; () where it is known."""
    unit: str = ""
    lower_is_better: bool | None = None
    assumed: str = ""
    """What was assumed of the direction; "" where the format says it."""
    order: str = ""
    """The column that gives the order of the runs; "": that of the file."""
    group: tuple[str, ...] = ()
    groups: int = 1
    columns: tuple[ColumnOutline, ...] = ()
    system: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    """What was noticed, dropped or filled."""


def outline(recorded: RecordedRuns) -> Outline:
    """Look at a table as `analyze` would; raises VgoError where its outcome holds no numbers."""
    known = recorded.outcome is not None
    parts = [design for _, design in designs(recorded, ColumnOptions(group=recorded.group))] if known else []
    sorted_out = understand(recorded, ColumnOptions(group=recorded.group), recorded.outcome or "", None)
    columns = tuple(_column(recorded, column, sorted_out, parts) for column in recorded.frame)
    order = next((name for name, role in recorded.roles.items() if role == "order"), "")
    found = Outline(
        file=recorded.source,
        format=recorded.format,
        rows=recorded.frame.height,
        candidates=() if known else _candidates(columns),
        order=order if order in recorded.frame.columns else "",
        group=recorded.group,
        columns=columns,
        system=recorded.system,
        notes=tuple(dict.fromkeys((*recorded.notes, *(sorted_out.warnings if not known else ())))),
    )
    return found.model_copy(update=_judged(recorded, found, parts)) if parts else found


def _judged(recorded: RecordedRuns, found: Outline, parts: Sequence[Observations]) -> dict[str, object]:
    """Say what is known only with an outcome."""
    name, units = parts[0].outcome_name, sorted({design.unit for design in parts if design.unit})
    _, assumed = lower_is_better(recorded, ColumnOptions(), name, parts[0].unit)
    heard = (words for design in parts for words in design.warnings if words != assumed)
    return {
        "runs": sum(design.outcome.size for design in parts),
        "outcome": name,
        "unit": listed(units, 3, "or") if units else "",
        "lower_is_better": parts[0].lower_is_better,
        "assumed": assumed,
        "groups": len(parts),
        "notes": tuple(dict.fromkeys((*found.notes, *heard))),
    }


def _column(
    recorded: RecordedRuns, column: pl.Series, sorted_out: ColumnClasses, parts: Sequence[Observations]
) -> ColumnOutline:
    name = column.name
    kind, numbers, unit = _kind(column)
    finite = numbers[np.isfinite(numbers)]
    aside = "" if name == recorded.outcome else _aside(name, sorted_out, parts)
    if not aside and not parts and kind == "number":
        aside = at_sight(GroupColumn(name, finite, len(column), True), name in sorted_out.settings)
    role = "outcome" if name == recorded.outcome else recorded.roles.get(name, "" if aside else "factor")
    middle = np.quantile(finite, [0, 0.5, 1]).tolist() if finite.size else [None] * 3
    return ColumnOutline(
        name=name,
        kind=kind,
        role=role,
        unit=recorded.units.get(name, "") or unit,
        description=recorded.descriptions.get(name, ""),
        missing=len(column) - finite.size if kind == "number" else column.null_count(),
        distinct=column.drop_nulls().n_unique(),
        low=middle[0],
        median=middle[1],
        high=middle[2],
        set_aside=aside,
    )


def _kind(column: pl.Series) -> tuple[Kind, FloatArray, str]:
    """Tell what stands in a column, with its numbers and the unit that stands beside them."""
    none = np.empty(0)
    if column.null_count() == len(column):
        return "empty", none, ""
    if column.dtype.is_numeric():
        return "number", column.cast(pl.Float64).to_numpy(), ""
    if column.dtype == pl.Boolean:
        return "truth", none, ""
    if column.dtype.is_temporal():
        return "time", none, ""
    if column.dtype != pl.String:
        return "text", none, ""
    if are_moments(column):
        return "time", none, ""
    read = parse(column)
    return ("number", read.numbers.to_numpy(), read.unit) if isinstance(read, Quantity) else ("text", none, "")


def _aside(name: str, sorted_out: ColumnClasses, parts: Sequence[Observations]) -> str:
    """Why no group asks anything of a column."""
    if any(name in design.names or name in design.groups for design in parts):
        return ""
    if name in sorted_out.aside or not parts:
        return sorted_out.aside.get(name, "")
    return parts[0].set_aside.get(name, "")


def _candidates(columns: Sequence[ColumnOutline]) -> tuple[str, ...]:
    """Numbers that vary; those with the name of a time or a rate first."""
    numbers = [one for one in columns if one.kind == "number" and one.distinct > 1 and not one.set_aside]
    likely = [one.name for one in numbers if speaks_of_outcome(one.name)]
    return tuple(dict.fromkeys((*likely, *(one.name for one in numbers))))[:MOST_CANDIDATES]
