"""What everything that is checked as it is read has in common."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Frozen(BaseModel):
    """Frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def is_none(value: object) -> bool:
    """Tell whether there is no value; 0 is one."""
    return value is None


def is_empty(value: object) -> bool:
    """Tell whether it is an empty text or tuple, or False."""
    return not value


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
