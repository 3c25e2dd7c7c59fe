"""The outcome of a recorded table: its column, its numbers, its unit, and which way is better."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ..statistics.values import FloatArray
from .columns import Mixed, listed, numeric, parse, refuse_beyond, shortened, unknown
from .recorded import ColumnOptions, RecordedRuns

_SUFFIX = re.compile(
    r"(?:^|[_.\s(\[/])(s|ms|us|µs|ns|sec|secs|seconds|milliseconds|microseconds|nanoseconds)[)\]]?$", re.I
)
_TIME_UNITS = re.compile(r"(s|ms|us|µs|μs|ns|sec|secs|seconds?|min|minutes?|h|cycles?)(/.*)?", re.I)
_RATE_UNITS = re.compile(
    r".+/\s*(s|sec|second|ms|us|min|h|hour|cycle)|[kmgt]?(bps|flops|ops|hz|ips)|fps|[kmgt]i?b/s", re.I
)
_WORSE_HIGH = {
    "miss",
    "misses",
    "error",
    "errors",
    "fail",
    "fails",
    "failure",
    "drop",
    "drops",
    "loss",
    "variance",
    "sd",
}
_BETTER_HIGH = {"throughput", "bandwidth", "ops", "rate", "score", "iops", "fps", "flops", "gflops", "mflops", "tflops"}
_UNIT_COLUMNS = ("unit", "units", "metric_unit")
_WORSE_HIGH |= {"latency", "time", "duration", "elapsed", "wall", "delay", "jitter", "seconds", "std", "cv", "cost"}
_BETTER_HIGH |= {"speed", "speedup", "qps", "tps", "rps", "ips", "ipc", "mips", "efficiency", "bogo", "goodput", "mbps"}


@dataclass(frozen=True)
class OutcomeColumn:
    """The numbers of the outcome over the whole table."""

    name: str
    values: FloatArray
    """Shape (rows,), in file order; NaN where missing or infinite."""
    unit: str
    warnings: tuple[str, ...]


def outcome_column(recorded: RecordedRuns, wanted: ColumnOptions) -> OutcomeColumn:
    """Find the outcome; text with one unit is read as numbers, mixed units are refused."""
    name = _name(recorded, wanted)
    column = recorded.frame[name]
    unit, warnings = recorded.units.get(name, ""), []
    if column.dtype == pl.String:
        read = parse(column)
        if isinstance(read, Mixed):
            units = listed([one or "no unit" for one in read.units])
            raise VgoError(f"The outcome {name} mixes units ({units}): convert it to one unit.")
        if read is None:
            raise VgoError(f"The outcome {name} is text ({_example(column)}): name one of {_numbers(recorded)}.")
        column, unit = read.numbers, read.unit or unit
        if read.unread:
            warnings.append(f"Taken as missing outcomes, since they are no numbers: {listed(read.unread, 5)}.")
    elif not column.dtype.is_numeric():
        raise VgoError(f"The outcome {name} holds no numbers ({column.dtype}): name one of {_numbers(recorded)}.")
    refuse_beyond(recorded, name, [one for one in numeric(recorded.frame) if one != name])
    values = column.cast(pl.Float64).to_numpy(writable=True)
    values[~np.isfinite(values)] = np.nan
    if np.isnan(values).all():
        raise VgoError(f"The outcome {name} has no finite value: name one of {_numbers(recorded)}.")
    return OutcomeColumn(name, values, unit or _unit_in(name), tuple(warnings))


def unit_columns(outcome: str) -> tuple[str, ...]:
    """Names under which the unit of the outcome may stand beside it."""
    return (*_UNIT_COLUMNS, f"{outcome}_unit")


def unit_of_group(outcome: OutcomeColumn, frame: pl.DataFrame, rows: pl.Series, grouped: Collection[str]) -> str:
    """Return the unit of these rows, which may stand in a column of its own; several units are refused."""
    beside = [name for name in unit_columns(outcome.name) if name in frame.columns and name not in grouped]
    for name in beside:
        units = frame[name].gather(rows).drop_nulls().unique().sort().to_list()
        if len(units) > 1:
            raise VgoError(f"The outcome {outcome.name} is in several units ({listed(units)}): give --group {name}.")
        if units:
            return str(units[0])
    return outcome.unit


def lower_is_better(recorded: RecordedRuns, wanted: ColumnOptions, name: str, unit: str) -> tuple[bool, str]:
    """Tell which way is better, and what was assumed ("" where nothing was)."""
    if wanted.lower_is_better is not None:
        return wanted.lower_is_better, ""
    if name in recorded.lower_is_better:
        return recorded.lower_is_better[name], ""
    lower = by_unit_or_name(name, unit)
    way, other = ("lower", "higher") if lower else ("higher", "lower")
    return lower, f"A {way} {name} is assumed to be better: give --{other}-is-better if it is not."


def by_unit_or_name(name: str, unit: str) -> bool:
    """Guess whether a lower value is a better one."""
    words = _words(name)
    if words & _WORSE_HIGH:
        return True
    if words & _BETTER_HIGH or re.search(r"(/s|_?per_?s(ec(ond)?)?)$", name, re.I):
        return False
    return bool(_TIME_UNITS.fullmatch(unit)) or not _RATE_UNITS.fullmatch(unit)


def speaks_of_outcome(name: str) -> bool:
    """Tell whether a name is that of a time, a rate or another thing that a run is judged by."""
    return bool(_words(name) & (_WORSE_HIGH | _BETTER_HIGH | {"result", "value"}) or _SUFFIX.search(name))


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))


def _name(recorded: RecordedRuns, wanted: ColumnOptions) -> str:
    name = wanted.outcome or recorded.outcome
    if name is None:
        raise VgoError(f"Name the outcome of {recorded.source} with --outcome: one of {_numbers(recorded)}.")
    if name in wanted.exclude or name in wanted.group or name in wanted.settings:
        raise VgoError(f"{name} is the outcome: take it out of --group, --settings and --exclude.")
    if name not in recorded.frame.columns:
        there = recorded.frame.columns
        problem = unknown(name, "--outcome", recorded.source, there)
        raise VgoError(f"{str(problem).removesuffix('.')}; its numeric columns are {_numbers(recorded)}.")
    return name


def _numbers(recorded: RecordedRuns) -> str:
    return listed(numeric(recorded.frame)) if numeric(recorded.frame) else "the columns of a table that has numbers"


def _example(column: pl.Series) -> str:
    values = column.drop_nulls()
    return f"such as '{shortened(str(values[0]))}'" if len(values) else "all missing"


def _unit_in(name: str) -> str:
    found = _SUFFIX.search(name)
    return found[1] if found else ""
