"""How numbers are written for people: four digits, units scaled, ratios with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...tools.claim import Claim
from ...tools.statistics.spread import ArmSummary
from ...tools.statistics.values import IntervalEstimate
from ..terminal import ASCII_BARS, BARS, bar_line, bins

Fact = tuple[str, str]
"""A name with what is known of it."""
ABSENT = "–"
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BYTES = {"GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10, "bytes": 1.0}
_FAMILIES = ({"kB": 2.0**10, **_BYTES}, _SECONDS)


@dataclass(frozen=True)
class Scale:
    """A unit in which values of one size read well."""

    factor: float
    """Multiply by it."""
    unit: str

    def show(self, value: float | None) -> str:
        """Write a value with its unit."""
        return ABSENT if value is None else f"{number(value * self.factor)} {self.unit}".rstrip()


def scale(unit: str, largest: float) -> Scale:
    """Choose the unit in which a value of this size stands between 1 and 1000, or the nearest there is; also per s."""
    plain, per, second = unit.partition("/s")
    if per and not second and plain not in _SECONDS:
        within = scale(plain, largest)
        return Scale(within.factor, f"{within.unit}{per}") if plain in _FAMILIES[0] else Scale(1.0, unit)
    for family in _FAMILIES:
        if unit in family and math.isfinite(largest) and largest != 0:
            shown = [name for name in family if name != "kB"]  # the largest first
            name = next((name for name in shown if abs(largest) * family[unit] >= family[name]), shown[-1])
            return Scale(family[unit] / family[name], name)
    return Scale(1.0, "" if unit == "count" else unit)


def statistic_name(key: str) -> str:
    """Name a statistic as people do: `sd` is the SD, a `mean` the mean."""
    return key.upper() if key in ("sd", "cv", "mad", "iqr") else key


def number(value: float | None, digits: int = 4) -> str:
    """Write that many significant digits, without an exponent where people can do without; large numbers stay whole."""
    if value is None or not math.isfinite(value):
        return ABSENT
    short = f"{value:.{digits}g}"
    if 1e12 > abs(value) >= 10**digits or ("e+" in short and abs(value) < 1e12):
        return f"{value:,.0f}"
    return f"{float(short):,g}" if abs(value) >= 1000 else short


def level_text(level: str | float) -> str:
    """Write a level of a setting; whole numbers as they were given."""
    return number(level) if isinstance(level, float) else str(level)


def quantity(value: float | None, unit: str) -> str:
    """Write one value in its best unit."""
    return ABSENT if value is None else scale(unit, value).show(value)


def other_level(claim: Claim) -> str:
    """Say the level of an interval in a column of 95 % ones: ` (99.5 %)`; empty where that is its own."""
    return "" if math.isclose(claim.level, 0.95) else f" ({100 * claim.level:.4g} %)"


def ratio(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a ratio, with its interval where there is one."""
    if value is None:
        return "undefined"
    if low is None or high is None:
        return number(value, 3)
    return f"{number(value, 3)} [{number(low, 3)}, {number(high, 3)}]"


def percent(share: float | None, digits: int = 3) -> str:
    """Write a share as a percentage."""
    return ABSENT if share is None else f"{number(100 * share, digits)} %"


def p_value(p: float | None) -> str:
    """Write a p-value; below a thousandth its digits say nothing."""
    if p is None:
        return ABSENT
    return "p < 0.001" if p < 0.001 else f"p = {number(p, 2)}"


def p_cell(p: float | None) -> str:
    """Write a p-value for a column that is called so: `0.02`, `< 0.001`."""
    return p_value(p).removeprefix("p ").removeprefix("= ")


WIDTH = 60


def statistics(outcome: ArmSummary, interval: IntervalEstimate | None, unit: str) -> tuple[Fact, ...]:
    """Name every statistic with its value, in the unit that suits the median."""
    show = scale(unit, outcome.median).show
    known = f" (95 %: {show(interval.low)} to {show(interval.high)})" if interval else ""
    return (
        ("mean", show(outcome.mean)),
        ("median", show(outcome.median)),
        ("SD", show(outcome.sd) + known),
        ("MAD", show(outcome.mad)),
        ("IQR", show(outcome.iqr)),
        ("p95", show(outcome.p95)),
        ("p99", show(outcome.p99)),
        ("CV", percent(outcome.cv)),
        ("range", f"{show(outcome.minimum)} to {show(outcome.maximum)}"),
        ("runs", number(outcome.n)),
    )


def histogram(outcomes: Sequence[float], unit: str, fancy: bool) -> tuple[str, ...]:
    """Draw a line of bars with its two ends below; `fancy` where the output can show block characters."""
    if not outcomes:
        return ()
    low, high = min(outcomes), max(outcomes)
    left, right = quantity(low, unit), quantity(high, unit)
    line = bar_line(bins(outcomes, low, high, WIDTH), BARS if fancy else ASCII_BARS)
    return line, left + right.rjust(WIDTH - len(left))
