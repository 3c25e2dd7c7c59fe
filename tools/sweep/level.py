"""One level of a parameter, and how it is written in a command, a table and a name."""

from __future__ import annotations

from decimal import Decimal

Level = int | float | str
DIGITS = 6
"""Of a number that was drawn from a range: more would only make commands hard to read."""


def shown(level: Level) -> str:
    """Write a level as the program gets it: no exponent, and 1.0 as 1."""
    if isinstance(level, float):
        text = format(Decimal(repr(level)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(level)


def tidy(value: float, whole: bool) -> int | float:
    """Round a number that was drawn."""
    if whole:
        return int(round(value))
    return float(f"{value:.{DIGITS}g}")
