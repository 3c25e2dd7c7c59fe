"""A distribution in words: its statistics, and how the runs lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...tools.statistics.spread import ArmSummary
from ...tools.statistics.values import IntervalEstimate
from ..progress import ASCII_BARS, BARS, bar_line, bins
from .numbers import number, percent, quantity, scale
from .story import Fact

WIDTH = 60


def statistics(outcome: ArmSummary, interval: IntervalEstimate | None, unit: str) -> Iterator[Fact]:
    """Name every statistic with its value, in the unit that suits the median."""
    show = scale(unit, outcome.median).show
    yield Fact("mean", show(outcome.mean))
    yield Fact("median", show(outcome.median))
    known = f" (95 %: {show(interval.low)} to {show(interval.high)})" if interval else ""
    yield Fact("SD", show(outcome.sd) + known)
    for name, value in (("MAD", outcome.mad), ("IQR", outcome.iqr), ("p95", outcome.p95), ("p99", outcome.p99)):
        yield Fact(name, show(value))
    yield Fact("CV", percent(outcome.cv))
    yield Fact("range", f"{show(outcome.minimum)} to {show(outcome.maximum)}")
    yield Fact("runs", number(outcome.n))


def histogram(outcomes: Sequence[float], unit: str, fancy: bool) -> tuple[str, ...]:
    """Draw a line of bars with its two ends below; `fancy` where the output can show block characters."""
    if not outcomes:
        return ()
    low, high = min(outcomes), max(outcomes)
    left, right = quantity(low, unit), quantity(high, unit)
    line = bar_line(bins(outcomes, low, high, WIDTH), BARS if fancy else ASCII_BARS)
    return line, left + right.rjust(WIDTH - len(left))
