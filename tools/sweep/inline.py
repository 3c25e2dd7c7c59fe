"""A space on the command line, `size=1000,2000 threads=1,2`, so that none needs a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import ValidationError

from ...knowledge.errors import VgoError
from ...knowledge.files import first
from .space import Level, Space, Target

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KNOB = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")
FORM = "write NAME=LEVEL,LEVEL, several with spaces between, for example 'size=1000,2000 threads=1,2'"


def is_inline(word: str) -> bool:
    """Tell whether a word is a space, and no file."""
    return "=" in word and not os.path.isfile(word)  # False for a word that is too long for a name


def inline(word: str, command: tuple[str, ...] = ()) -> Space:
    """Read a space; raises VgoError where it is none.

    A name goes into the command where `{name}` stands in it; else threads, affinity, frequency, scheduler, cpu_quota
    and memory go where a file would send them, NAME in capitals is a variable, and a name with a dot is a parameter of
    a mitigation. The CPUs of an affinity are separated by +: `affinity=0,0+1`.
    """
    parts = word.split()
    made = dict(_parameter(part, command) for part in parts)
    if len(made) < len(parts):
        raise VgoError(f"{word!r} gives a parameter twice: give all its levels at once.")
    try:
        return Space.model_validate({"parameters": made})
    except ValidationError as error:
        raise VgoError(f"{word!r}: {first(error)}: {FORM}.") from error


def named_after(word: str) -> str:
    """Give the folder of such a sweep its name: that of its parameters."""
    return "-".join(part.partition("=")[0].replace(".", "-").lower() for part in word.split())[:60]


def _parameter(part: str, command: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    name, sign, told = part.partition("=")
    texts = told.split(",")
    if not sign or not name or not all(texts):
        raise VgoError(f"{part!r} is no parameter with its levels: {FORM}.")
    levels = list(_levels(texts))
    if any(f"{{{name}}}" in one for one in command):
        return name, {"levels": levels}
    if name == "affinity":
        return name, {"levels": [text.replace("+", ",") for text in texts], "to": name}
    if name in get_args(Target):
        return name, {"levels": levels, "to": name}
    if knob := _KNOB.fullmatch(name):
        return f"{knob[1]}_{knob[2]}", {"levels": levels, "mitigation": knob[1], "parameter": knob[2]}
    if _VARIABLE.fullmatch(name):
        return name.lower().lstrip("_"), {"levels": levels, "environment": name}
    return name, {"levels": levels}


def _levels(texts: list[str]) -> Iterator[Level]:
    for text in texts:
        number = _NUMBER.fullmatch(text)
        yield text if not number else float(text) if any(number.groups()) else int(text)
