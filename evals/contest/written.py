"""Does a number in a text say what a tool gave? At as many digits as are written, in the unit that is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SIZES = {"bytes": 1.0, "kB": 2.0**10, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
NUMBER = re.compile(
    r"(?P<less><\s*)?(?<![\w.,-])(?P<number>[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w-]|\.\d)"
    rf"(?:\s(?P<unit>%|(?:{'|'.join((*UNITS, *SIZES))})\b))?"
)
"""A number that stands by itself, not part of a name, a version or a file; with its unit, and a `<` before it."""
FEWEST = 2
"""Significant digits that are meant where fewer are written: a rounded 0.30 reads 0.3."""
LEAST_P = 0.001
"""Below it a report only says that a p-value is less."""


class Passage(NamedTuple):
    """A text, and the only numbers that it may say."""

    where: str
    """Its name, for who reads what is wrong."""
    text: str
    values: tuple[float, ...]
    """Shares are given as shares."""
    unit: str = ""
    """Of those values that have one."""
    p_values: tuple[float, ...] = ()
    """Those that may be said to be less than `LEAST_P`."""


def unfounded(passage: Passage) -> Iterator[str]:
    """Name the numbers of a passage that none of its values is rounded to."""
    for found in NUMBER.finditer(passage.text):
        word = found["number"].replace(",", "")
        if found["less"]:
            founded = float(word) == LEAST_P and any(value < LEAST_P for value in passage.p_values)
        else:
            values = passage.values + passage.p_values
            founded = any(_founded(word, scale, values) for scale in _scales(found["unit"], passage.unit))
        if not founded:
            yield f"{passage.where} says {found[0].strip()}, which no tool gave"


def _scales(written: str | None, unit: str) -> tuple[float, ...]:
    """Multiply a value by one of these to have it in the unit that is written; where % is the unit, either."""
    if written == "%":
        return (1.0, 100.0) if unit == "%" else (100.0,)
    for family in (UNITS, SIZES):
        if written in family and unit in family:
            return (family[unit] / family[written],)
    return (1.0,)


def _founded(word: str, scale: float, values: Iterable[float]) -> bool:
    said, reach = float(word), 0.5000001 * _last_place(word)
    return any(abs(value * scale - said) <= reach for value in values)


def _last_place(word: str) -> float:
    """What one more in the last digit would be; nothing for a plain 0."""
    mantissa, _, exponent = word.lstrip("+-").partition("e")
    whole, _, decimals = mantissa.partition(".")
    significant = len((whole + decimals).lstrip("0"))
    if not significant and not decimals:
        return 0.0
    missing = 0 if len(decimals) >= FEWEST else max(0, FEWEST - significant)
    return float(10.0 ** (int(exponent or 0) - len(decimals) - missing))
