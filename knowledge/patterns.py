"""Names of columns in which `*` stands for what the machine fills in."""

from __future__ import annotations

from functools import cache


@cache
def overlap(one: str, other: str) -> bool:
    """Tell whether a name can match both patterns, in which `*` stands for any text."""
    if not one or not other:
        return not (one + other).strip("*")
    if one[0] == "*":
        return overlap(one[1:], other) or overlap(one, other[1:])
    if other[0] == "*":
        return overlap(other, one)
    return one[0] == other[0] and overlap(one[1:], other[1:])
