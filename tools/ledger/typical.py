"""A slow and a fast run that stand for the others, with what their threads did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...layers.probes.lanes import LanePiece, RunLanes, ThreadLane
from ..statistics.ratio_test import FEWEST
from .shares import slow_runs
from .split import SplitRuns


class TypicalRun(NamedTuple):
    """A run whose time is that of its class."""

    name: str
    """`slow run 17`, by its order in the table."""
    ms: float
    lanes: RunLanes

    def threads(self, most: int) -> tuple[tuple[int, ThreadLane], ...]:
        """Lanes with their places: the first, then those with most time on the path, in their order."""
        spent = Counter({0: self.lanes.ns})
        for piece in self.lanes.path:
            spent[piece.lane] += piece.end_ns - piece.start_ns
        places = sorted(range(len(self.lanes.lanes)), key=lambda place: -spent[place])[:most]
        return tuple((place, self.lanes.lanes[place]) for place in sorted(places))


def in_cells(pieces: Iterable[LanePiece], low_ns: float, high_ns: float, cells: int) -> list[LanePiece | None]:
    """The piece that most of each cell between two times belongs to; None where there is none."""
    found: list[LanePiece | None] = [None] * cells
    held, width = [0.0] * cells, (high_ns - low_ns) / cells
    for piece in pieces:
        start, end = max(piece.start_ns, low_ns), min(piece.end_ns, high_ns)
        for cell in range(
            int((start - low_ns) / width), min(int((end - low_ns) / width) + 1, cells) if end > start else 0
        ):
            there = min(end, low_ns + (cell + 1) * width) - max(start, low_ns + cell * width)
            if there > held[cell]:
                found[cell], held[cell] = piece, there
    return found


def typical_runs(split: SplitRuns) -> tuple[TypicalRun, ...]:
    """A slow run, then a fast one: of each class the one whose time is nearest to the median of the class.

    None where there are too few runs, where they do not vary, or where no lanes were kept.
    """
    kept = np.array([bool(cell) for cell in split.lanes], dtype=np.bool_)
    if not kept.any() or split.time_ms.size < FEWEST or not split.time_ms.std():
        return ()
    slow, _ = slow_runs(split.time_ms)
    found = []
    for name, rows in (("slow", slow & kept), ("fast", ~slow & kept)):
        if not rows.any():
            return ()
        away = np.where(rows, np.abs(split.time_ms - np.median(split.time_ms[rows])), np.inf)
        place = int(away.argmin())
        lanes = RunLanes.read(split.lanes[place])
        found.append(TypicalRun(f"{name} run {split.order[place]}", float(split.time_ms[place]), lanes))
    return tuple(found)
