"""What a user may say about where the outcome is cut."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, get_args

from ....knowledge.errors import VgoError

CutKind = Literal[
    "auto", "given", "percentile", "mean", "median", "between-modes", "before-tail", "tertiles", "quartiles", "search"
]
NAMED: tuple[CutKind, ...] = tuple(kind for kind in get_args(CutKind) if kind not in ("given", "percentile"))
CHOICES = f"a number, pNN (p90), several of either with commas between, or one of {', '.join(NAMED)}"


@dataclass(frozen=True)
class CutRule:
    """A wish; `labels.classes` makes cuts of it."""

    kind: CutKind
    points: tuple[float, ...] = ()
    """Ascending. given, or search once made: in the unit of the outcome; percentile: between 0 and 100."""


AUTOMATIC = CutRule("auto")


def parse(text: str) -> CutRule:
    """Understand `auto`, `1.5`, `1,2.5`, `p90`, `p33,p66`, `mean` and so on; VgoError names the choices."""
    word = text.strip().lower()
    for kind in NAMED:
        if word == kind:
            return CutRule(kind)
    parts = [part.strip() for part in word.split(",")]
    percentiles = [re.fullmatch(r"p(\d+(?:\.\d+)?)", part) for part in parts]
    found = [float(match[1]) for match in percentiles if match]
    if len(found) == len(parts) and all(0 < share < 100 for share in found):
        return CutRule("percentile", tuple(sorted(set(found))))
    numbers = [_number(part) for part in parts]
    known = [number for number in numbers if number is not None]
    if len(known) < len(parts):
        raise VgoError(f"--cut {text} is no cut: give {CHOICES}.")
    return CutRule("given", tuple(sorted(set(known))))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
