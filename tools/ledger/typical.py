"""A slow and a fast run that stand for the others, with what their threads did."""

from __future__ import annotations

import numpy as np

from ...layers.probes.lanes import RunLanes
from ..statistics.ratio_test import FEWEST
from .run_timeline import TypicalRun
from .shares import slow_runs
from .split import SplitRuns, read_cell


def typical_runs(split: SplitRuns) -> tuple[TypicalRun, ...]:
    """A slow run, then a fast one: of each class the one whose states are nearest to the means of the class, in all.

    None where there are too few runs, where they do not vary, or where no lanes were kept.
    """
    kept = np.array([bool(cell) for cell in split.lanes], dtype=np.bool_)
    if not kept.any() or split.time_ms.size < FEWEST or not split.time_ms.std():
        return ()
    slow, _ = slow_runs(split.time_ms, split.told)
    found, states = [], np.array([*split.states.values()])
    for name, rows in (("slow", slow & kept), ("fast", ~slow & kept)):
        if not rows.any():
            return ()
        mean = states[:, rows].mean(axis=1, keepdims=True)
        away = np.where(rows, np.abs(states - mean).sum(axis=0), np.inf)
        place = int(away.argmin())
        lanes = read_cell(RunLanes.read, split.lanes[place], "lanes")
        found.append(TypicalRun(f"{name} run {split.order[place]}", float(split.time_ms[place]), lanes))
    return tuple(found)
