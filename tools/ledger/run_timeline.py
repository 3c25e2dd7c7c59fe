"""What the threads of a run that stands for others did, ready to be drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ...knowledge.time_states import QUEUES, TimeState
from ...layers.probes.lanes import LanePiece, RunLanes, ThreadLane

ON_CPU = (TimeState.ON_CPU, TimeState.PEER_ON_CPU)
READY = (*QUEUES, TimeState.QUEUE)
PATH = "where the time went"
"""What the path of a run is called beside its threads."""


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
