"""For how long the program ran anywhere: hosts work at once, so their times do not add up to time that has passed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of time, in seconds of one clock."""

    begin_s: float
    end_s: float


def busy_s(spans: Iterable[Span]) -> float:
    """Length in seconds of the union of spans."""
    total_s, covered_s = 0.0, float("-inf")
    for span in sorted(spans):
        total_s += max(0.0, span.end_s - max(span.begin_s, covered_s))
        covered_s = max(covered_s, span.end_s)
    return total_s
