"""Distributions as lines of text on one axis, a strip an arm: read without colour, and without a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from ..progress import BARS, bar_line, bins
from ..terminal import amount

FEWEST_CELLS, MOST_NAME = 10, 28
TRIM = 0.005
"""Share of outcomes beyond either end of the axis at most; they are counted in the strip that touches it."""


def strips(arms: Mapping[str, Sequence[float]], unit: str, width: int) -> list[str]:
    """Draw each arm as a name, a bar of its density and its median; the axis holds all but the farthest outcomes."""
    values = {name: sorted(one) for name, one in arms.items() if len(one)}
    if not values:
        return []
    named = min(max(map(len, values)), MOST_NAME)
    room = max(width - named - 2, FEWEST_CELLS)
    low = min(one[int(TRIM * (len(one) - 1))] for one in values.values())
    high = max(one[-1 - int(TRIM * (len(one) - 1))] for one in values.values())
    lines = []
    for name, one in values.items():
        drawn = bar_line(bins(one, low, high, room), BARS)
        lines.append(f"{_short(name, named):<{named}}  {drawn}")
        lines.append(f"{'':<{named}}  {_pointer(median(one), low, high, room, unit, len(one))}")
    left, right = amount(low, unit), amount(high, unit)
    return [*lines, f"{'':<{named}}  {left}{right.rjust(max(room - len(left), len(right) + 1))}"]


def _pointer(at: float, low: float, high: float, room: int, unit: str, runs: int) -> str:
    """Put the median below its bar, with its number on the side that has room."""
    place = min(int((at - low) / (high - low) * room), room - 1) if high > low else 0
    words = f"median {amount(at, unit)}, {runs} runs"
    if place + 2 + len(words) <= room:
        return f"{'':<{place}}^ {words}"
    return f"{words} ^".rjust(place + 1)


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
