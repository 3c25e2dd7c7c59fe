"""A ledger in characters: stacked bars of slow and fast runs by state, and each run as a column, in its order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...knowledge.terms import state_words
from ...tools.amount import amount
from ...tools.statistics.values import BoolArray, FloatArray, IntArray

MOST = 6
"""States that are drawn apart, those with the largest weights; the rest is one part."""
MARKS, REST = "#=+o*x", "."
"""Characters of those states."""
WIDTH, HEIGHT = 60, 10
"""Characters of the longest bar, and of the longest column."""
OTHER = "other states"


def drawn(states: Mapping[str, FloatArray], weight: Mapping[str, float]) -> dict[str, FloatArray]:
    """States by their names, the heaviest first; the others together."""
    first = sorted(states, key=lambda state: -weight.get(state, 0.0))[:MOST]
    parts = {state_words(state): states[state] for state in first}
    rest = [values for state, values in states.items() if state not in first]
    return {**parts, OTHER: np.sum(rest, axis=0)} if rest else parts


def ledger_bars(parts: Mapping[str, FloatArray], slow: BoolArray, width: int = WIDTH) -> str:
    """Draw parts of each run, shape (runs,): a bar for the mean of each class, a column a run, what stands for what.

    Where there are more runs than columns, a column is the mean of neighbours.
    """
    times = np.sum(list(parts.values()), axis=0)
    classes = {name: np.flatnonzero(rows) for name, rows in (("fast", ~slow), ("slow", slow)) if rows.any()}
    longest = max(times[rows].mean() for rows in classes.values())
    bars = [
        f"{name:4}  {_stack(parts, rows, longest, width)} {amount(float(times[rows].mean()), 'ms')}"
        for name, rows in classes.items()
    ]
    groups = np.array_split(np.arange(times.size), min(times.size, width))
    highest = max(times[rows].mean() for rows in groups)
    columns = [_stack(parts, rows, highest, HEIGHT).ljust(HEIGHT) for rows in groups]
    strip = ["      " + "".join(column[row] for column in columns).rstrip() for row in reversed(range(HEIGHT))]
    each = "each run" if len(groups) == times.size else f"means of {times.size // len(groups)} or more neighbours"
    legend = [f"  {mark}  {name}" for name, mark in _marks(parts).items()]
    return "\n".join([*bars, "", f"{each}, in order; the highest is {amount(float(highest), 'ms')}", *strip, *legend])


def _marks(parts: Mapping[str, FloatArray]) -> dict[str, str]:
    return {name: REST if name == OTHER else mark for name, mark in zip(parts, MARKS + REST, strict=False)}


def _stack(parts: Mapping[str, FloatArray], rows: IntArray, longest: float, cells: int) -> str:
    """The means of some runs, one state after the other."""
    ends = np.rint(np.cumsum([values[rows].mean() for values in parts.values()]) / longest * cells).astype(int)
    return "".join(
        mark * (end - start) for mark, start, end in zip(_marks(parts).values(), (0, *ends[:-1]), ends, strict=True)
    )
