"""A distribution in words: its statistics, and how the runs lie."""

from __future__ import annotations

from collections.abc import Sequence

from ...tools.statistics.spread import ArmSummary
from ...tools.statistics.values import IntervalEstimate
from ..progress import ASCII_BARS, BARS, bar_line, bins
from .numbers import number, percent, quantity, scale
from .story import Fact

WIDTH = 60


def statistics(outcome: ArmSummary, interval: IntervalEstimate | None, unit: str) -> list[Fact]:
    """Name every statistic with its value, in the unit that suits the median."""
    show = scale(unit, outcome.median).show
    known = f" (95 %: {show(interval.low)} to {show(interval.high)})" if interval else ""
    return [
        Fact("mean", show(outcome.mean)),
        Fact("median", show(outcome.median)),
        Fact("SD", show(outcome.sd) + known),
        Fact("MAD", show(outcome.mad)),
        Fact("IQR", show(outcome.iqr)),
        Fact("p95", show(outcome.p95)),
        Fact("p99", show(outcome.p99)),
        Fact("CV", percent(outcome.cv)),
        Fact("range", f"{show(outcome.minimum)} to {show(outcome.maximum)}"),
        Fact("runs", number(outcome.n)),
    ]


def histogram(outcomes: Sequence[float], unit: str, fancy: bool) -> tuple[str, ...]:
    """Draw a line of bars with its two ends below; `fancy` where the output can show block characters."""
    if not outcomes:
        return ()
    low, high = min(outcomes), max(outcomes)
    left, right = quantity(low, unit), quantity(high, unit)
    line = bar_line(bins(outcomes, low, high, WIDTH), BARS if fancy else ASCII_BARS)
    return line, left + right.rjust(WIDTH - len(left))
