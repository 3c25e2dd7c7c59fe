"""Guess which columns are levels: what does not add up over a run, so that its rate means nothing."""

from __future__ import annotations

import re

import numpy as np

from ..statistics.values import FloatArray

_UNITS = re.compile(r"%|°?C|celsius|[kmg]?hz|rpm|m?v|volts?|watts?|w", re.I)
_WORDS = {
    "percent",
    "pct",
    "ratio",
    "share",
    "fraction",
    "temp",
    "temps",
    "temperature",
    "celsius",
    "freq",
    "frequency",
}
_WORDS |= {"mhz", "ghz", "khz", "hz", "util", "utilisation", "utilization", "rss", "voltage", "rpm", "loadavg", "degc"}
_TIMES = {"s", "ms", "us", "ns", "sec", "secs", "seconds", "time", "duration", "latency", "elapsed", "wall", "delay"}

_SLACK = 0.1
"""How far a share that was computed as a difference of shares may lie outside [0, 1]."""


def is_level(name: str, unit: str, values: FloatArray, outcome: FloatArray) -> bool:
    """Guess by unit and name; a flag of 0 and 1 is one, and what lies within [0, 1], unless the outcome lies there too.

    A column wrongly held for a level escapes the test that tells causes from consequences: so what has a unit or the
    name of a time is no share, and nothing is one by its values where the outcome itself is that small.
    `values` and `outcome` are finite, over the whole table, so that all groups agree.
    """
    words = set(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))
    if _UNITS.fullmatch(unit) or "%" in name or words & _WORDS:
        return True
    if len(values) and np.isin(values, (0.0, 1.0)).all():  # a flag
        return True
    if unit or words & _TIMES or not len(values) or (outcome.min() >= 0 and outcome.max() <= 1):
        return False
    return bool(values.min() >= -_SLACK and values.max() <= 1 + _SLACK and (values != np.floor(values)).any())
