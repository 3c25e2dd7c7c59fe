"""Which part of a distribution is drawn: a few far values would press all others into one bar."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..tools.amount import amount
from ..tools.statistics.values import FloatArray

FAR = 6.0
"""A value so many times as far from the p95 as the p95 is from the median is left outside the picture."""
MOST_BEYOND = 0.05
"""Unless more than this share of the runs lies there, or more than one of few."""
FEWEST_SHOWN = 8
"""Runs of which one may be far: of fewer, none is."""


class Shown(NamedTuple):
    """The ends of what is drawn, and what lies beyond."""

    low: float
    high: float
    below: int
    above: int
    least: float
    most: float
    """Of all values."""

    def note(self, unit: str) -> str:
        """Say what lies beyond; empty where nothing does."""
        parts = [_beyond(self.below, self.low, "below", "down to", self.least, unit)]
        parts += [_beyond(self.above, self.high, "beyond", "up to", self.most, unit)]
        return "; ".join(filter(None, parts))


def shown_range(values: FloatArray) -> Shown:
    """Choose the range of finite values that is drawn; with equal values its ends are equal."""
    least, most = float(values.min()), float(values.max())
    # Quantiles that are values: between two of few runs they would follow the far one.
    p5, p95 = np.quantile(values, 0.05, method="higher"), np.quantile(values, 0.95, method="lower")
    p50 = np.median(values)
    reach = FAR * max(p95 - p50, p50 - p5)
    inside = values[(values >= p5 - reach) & (values <= p95 + reach)]
    beyond = values.size - inside.size
    few = values.size >= FEWEST_SHOWN and beyond <= max(MOST_BEYOND * values.size, 1)
    if not (reach > 0 and few):
        return Shown(least, most, 0, 0, least, most)
    low, high = float(inside.min()), float(inside.max())
    return Shown(low, high, int((values < low).sum()), int((values > high).sum()), least, most)


def _beyond(runs: int, end: float, where: str, to: str, last: float, unit: str) -> str:
    if not runs:
        return ""
    return f"{runs} run{'s' * (runs > 1)} {where} {amount(end, unit)}, {to} {amount(last, unit)}"
