"""Columns of a table: names as a user gives them, text read as numbers or moments, and which values can be used."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from ...knowledge.errors import VgoError
from ..statistics.values import LARGEST, SMALLEST, FloatArray
from .recorded import NO_ORDER, ColumnOptions, RecordedRuns

MISSING = ("", "-", "--", "?", "nan", "na", "n/a", "none", "null", "nil")
"""Words for no value, in lower case."""
_READABLE = 0.8
"""Share of the values that must be numbers; the rest (`timeout`, `failed`) counts as missing."""
_NUMBER = r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?"
_QUANTITY = rf"^(?i:(?P<number>{_NUMBER}))\s*(?P<unit>[A-Za-zµμ%°][A-Za-zµμ%°/·.^ -]*)?$"
_MOMENT = re.compile(r"\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:?\d\d(:?\d\d)?.*)?|\d{1,2}:\d\d(:\d\d(\.\d+)?)?")
LONGEST = 80
"""Letters of a name or a value in a sentence."""
BOUNDS = f"only numbers from {SMALLEST:g} to {LARGEST:g} are computed with"
_UNITS = re.compile(r"%|°?C|celsius|[kmg]?hz|rpm|m?v|volts?|watts?|w", re.I)
_WORDS = {
    "percent",
    "pct",
    "ratio",
    "share",
    "fraction",
    "temp",
    "temps",
    "temperature",
    "celsius",
    "freq",
    "frequency",
}
_TIMES = {"s", "ms", "us", "ns", "sec", "secs", "seconds", "time", "duration", "latency", "elapsed", "wall", "delay"}
_SLACK = 0.1
"""How far a share that was computed as a difference of shares may lie outside [0, 1]."""


class Quantity(NamedTuple):
    """Numbers that were written as text."""

    numbers: pl.Series
    """Float64; null where missing or not a number."""
    unit: str
    unread: tuple[str, ...]
    """Words that are no numbers, taken as missing."""


class Mixed(NamedTuple):
    """Numbers in several units, which nothing here converts."""

    units: tuple[str, ...]


def parse(text: pl.Series) -> Quantity | Mixed | None:
    """Read text as numbers of one unit; None where it is just text."""
    stripped = text.str.strip_chars()
    stripped = stripped.set(stripped.str.to_lowercase().is_in(MISSING).fill_null(True), None)
    present = len(stripped) - stripped.null_count()
    if not present or not _promising(stripped):
        return None
    parts = stripped.str.extract_groups(_QUANTITY).struct.unnest()
    numbers = parts["number"].str.replace_all(",", "").cast(pl.Float64, strict=False)
    numbers = numbers.set(numbers.is_finite() & ~numbers.abs().is_between(SMALLEST, LARGEST) & (numbers != 0), None)
    read = numbers.is_not_null()
    if read.sum() < _READABLE * present:
        return None
    units = parts["unit"].str.strip_chars().fill_null("").filter(read & (numbers != 0.0).fill_null(False))
    distinct = sorted(units.unique().to_list())
    if len(distinct) > 1:
        return Mixed(tuple(distinct))
    unread = stripped.filter(~read & stripped.is_not_null()).unique().sort().to_list()
    return Quantity(numbers, distinct[0] if distinct else "", tuple(unread))


def are_moments(text: pl.Series) -> bool:
    """Tell whether text gives dates or times of day, by a sample."""
    sample = text.drop_nulls().head(100).str.strip_chars().to_list()
    return bool(sample) and all(_MOMENT.fullmatch(value) for value in sample)


def seconds(text: pl.Series) -> pl.Series | None:
    """Turn ISO moments into seconds since 1970 (UTC where no zone is given); None where one is no ISO moment."""
    try:
        return pl.Series(text.name, [_seconds(value) for value in text], pl.Float64)
    except ValueError:
        return None


def _seconds(value: str | None) -> float | None:
    if value is None or not value.strip():
        return None
    moment = datetime.fromisoformat(value.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _promising(text: pl.Series) -> bool:
    """Look at 1,000 values evenly over the column before all are read: most text is plainly no number."""
    places = np.unique(np.linspace(0, len(text) - 1, 1000).astype(np.int64))
    sample = text.gather(places).drop_nulls()
    return sample.is_empty() or bool(sample.str.contains(_QUANTITY).mean() or 0)


def check_names(recorded: RecordedRuns, wanted: ColumnOptions) -> None:
    """Refuse options that name a column that is not there, or one column for two ends."""
    there = [*recorded.frame.columns, *recorded.left_out]
    options = {"group": wanted.group, "settings": wanted.settings, "exclude": wanted.exclude, "levels": wanted.levels}
    options["order"] = (wanted.order,) if wanted.order not in (None, NO_ORDER) else ()
    for option, names in options.items():
        for name in names:
            if name not in there:
                raise unknown(name, f"--{option}", recorded.source, there)
    used = [*wanted.group, *wanted.settings, *wanted.exclude]
    twice = next((name for name in used if used.count(name) > 1), None)
    if twice:
        raise VgoError(f"{twice} is given to two of --group, --settings and --exclude: give it to one.")


def unknown(name: str, option: str, source: str, there: Collection[str]) -> VgoError:
    """Name the columns that the user may have meant."""
    return VgoError(f"{source} has no column {name} ({option}): {nearest(name, there)}.")


def nearest(name: str, there: Collection[str]) -> str:
    """Advise on the names that look alike, else on the first ones."""
    folded = {column.lower(): column for column in there}
    close = get_close_matches(name.lower(), list(folded), n=3)
    return (
        f"did you mean {listed([folded[found] for found in close], 3, 'or')}?"[:-1]
        if close
        else f"it has {listed(there)}"
    )


def numeric(frame: pl.DataFrame) -> list[str]:
    """Columns that hold numbers as they stand."""
    return [name for name, dtype in frame.schema.items() if dtype.is_numeric()]


def shortened(text: str) -> str:
    """Cut what a table holds to what a sentence bears."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def listed(names: Collection[str], most: int = 12, last: str = "and") -> str:
    """Write names as a list; of many only the first, of long ones the beginning."""
    some = [shortened(str(name)) for name in list(names)[:most]]
    if len(names) > most:
        return f"{', '.join(some)} {last} {len(names) - most} more"
    return f" {last} ".join(filter(None, [", ".join(some[:-1]), some[-1] if some else "none"]))


def countable_only(recorded: RecordedRuns) -> RecordedRuns:
    """Empty the cells whose number is finite but too large or too small to compute with."""
    frame = recorded.frame
    floats = cs.float()
    found = frame.select(_beyond(floats).any()).row(0, named=True) if frame.select(floats).width else {}
    wrong = [name for name, is_wrong in found.items() if is_wrong]
    if not wrong:
        return recorded
    beyond = {name: float(frame.filter(_beyond(pl.col(name)))[name][0]) for name in wrong}
    kept = frame.with_columns(pl.when(~_beyond(pl.col(name))).then(pl.col(name)).alias(name) for name in wrong)
    notes = tuple(f"In {name} numbers such as {value:g} count as missing: {BOUNDS}." for name, value in beyond.items())
    return replace(recorded, frame=kept, beyond=beyond, notes=(*recorded.notes, *notes))


def refuse_beyond(recorded: RecordedRuns, outcome: str, others: Collection[str]) -> None:
    """Refuse an outcome of which such numbers were left out, since the runs that are left would not be the runs."""
    if outcome not in recorded.beyond:
        return
    others = [name for name in others if name not in recorded.beyond]
    cure = f", or name another column: {', '.join(others[:12])}" if others else ""
    raise VgoError(
        f"{outcome} of {recorded.source} holds {recorded.beyond[outcome]:g}, and {BOUNDS}: "
        f"mend such cells or empty them{cure}."
    )


def _beyond(columns: pl.Expr) -> pl.Expr:
    size = columns.abs()
    return ((size > LARGEST) | ((size < SMALLEST) & (size > 0))) & columns.is_finite()


_WORDS |= {"mhz", "ghz", "khz", "hz", "util", "utilisation", "utilization", "rss", "voltage", "rpm", "loadavg", "degc"}


def is_level(name: str, unit: str, values: FloatArray, outcome: FloatArray) -> bool:
    """Guess by unit and name; a flag of 0 and 1 is one, and what lies within [0, 1], unless the outcome lies there too.

    A column wrongly held for a level escapes the test that tells causes from consequences: so what has a unit or the
    name of a time is no share, and nothing is one by its values where the outcome itself is that small.
    `values` and `outcome` are finite, over the whole table, so that all groups agree.
    """
    words = set(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))
    if _UNITS.fullmatch(unit) or "%" in name or words & _WORDS:
        return True
    if len(values) and np.isin(values, (0.0, 1.0)).all():  # a flag
        return True
    if unit or words & _TIMES or not len(values) or (outcome.min() >= 0 and outcome.max() <= 1):
        return False
    return bool(values.min() >= -_SLACK and values.max() <= 1 + _SLACK and (values != np.floor(values)).any())
