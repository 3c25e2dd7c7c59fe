"""Text that stands for numbers: "1,234", "12 ms", "45%"; and text that stands for moments."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from ..statistics.values import LARGEST, SMALLEST

MISSING = ("", "-", "--", "?", "nan", "na", "n/a", "none", "null", "nil")
"""Words for no value, in lower case."""
_READABLE = 0.8
"""Share of the values that must be numbers; the rest (`timeout`, `failed`) counts as missing."""
_NUMBER = r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?"
_QUANTITY = rf"^(?i:(?P<number>{_NUMBER}))\s*(?P<unit>[A-Za-zµμ%°][A-Za-zµμ%°/·.^ -]*)?$"
_MOMENT = re.compile(r"\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:?\d\d(:?\d\d)?.*)?|\d{1,2}:\d\d(:\d\d(\.\d+)?)?")


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
