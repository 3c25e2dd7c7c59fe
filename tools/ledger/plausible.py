"""Whether a factor that goes with slow runs can hold what they take longer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...knowledge.time_states import TimeState
from ...layers.schema import Column
from ..statistics.values import BoolArray, FloatArray
from .ledger import Ledger
from .shares import StateShare

LEAST = 0.1
"""Of what the states that a factor acts on hold of the gap: a counter that can stand for less is not what holds it."""
MILLISECONDS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
COUNTED = frozenset({"count", "bytes", "pages"})


def elsewhere(
    ledger: Ledger, acts_on: Sequence[TimeState], column: Column | None, values: FloatArray, slow: BoolArray
) -> str:
    """Say in a clause why a factor cannot hold what slow runs take longer; empty where it can.

    Its states hold nothing of it, or its counter, shape (runs,), counts what made none of them longer, or moves too
    little to make them as long as they are.
    """
    if column and column.counts_waits:
        return "it counts how often the program was off a CPU, and how long that was is known"
    if not (held := ledger.held_by(acts_on)):
        return f"what it acts on holds {ledger.gap_ms(acts_on):.3g} of {ledger.shares.gap_ms:.3g} ms"
    most = most_ms(column, values, slow, held) if column else None
    there = sum(one.gap_ms for one in held)
    if most is None or most >= LEAST * there:
        return ""
    return f"it can stand for {most:.2g} of the {there:.3g} ms that slow runs spend more in what it acts on"


def most_ms(column: Column, values: FloatArray, slow: BoolArray, held: Sequence[StateShare]) -> float | None:
    """Bound the milliseconds that a counter can add to slow runs; None where it neither counts nor times.

    One unit takes at most what all the time of the states that it acts on comes to for each unit, and never more than
    the layer says of it.
    """
    if column.level or column.rate:
        return None
    more = abs(float(np.nanmean(values[slow]) - np.nanmean(values[~slow])))
    if column.unit in MILLISECONDS:
        return more * MILLISECONDS[column.unit]
    if column.unit not in COUNTED or not (mean := float(np.nanmean(values))) > 0:
        return None
    each = sum(one.mean_ms for one in held) / mean
    return more * min(each, column.most_us / 1e3 if column.most_us else np.inf)
