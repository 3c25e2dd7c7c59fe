"""What the threads of one run did side by side, kept in a cell of the run table: a lane for each, bounded in size."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from ...knowledge.time_states import TimeState

NO_LANE = -1


class LanePiece(NamedTuple):
    """Part of the window in one state."""

    start_ns: int
    """From the beginning of the window."""
    end_ns: int
    state: TimeState
    what: str
    """The function of time on a CPU, the call and the file of a wait, whom a queue was behind; may be empty."""
    lane: int
    """Who ended a wait; of the path, whose time it is. `NO_LANE`: an interrupt, or a thread without a lane."""
    pieces: int
    """That were put together; the state is the one in which most of their time was spent."""


class ThreadLane(NamedTuple):
    """A thread, by time."""

    name: str
    own: bool
    """It belongs to the program."""
    pieces: tuple[LanePiece, ...]


class RunLanes(NamedTuple):
    """The window of a run that its ledger splits: the whole run, or the part that its metric measures."""

    ns: int
    path: tuple[LanePiece, ...]
    """What the time went to, each wait replaced by what the thread did that ended it; covers the window."""
    lanes: tuple[ThreadLane, ...]
    """The first thread, then those of the program that mattered most, then others that were waited for."""

    def text(self) -> str:
        """As a cell of a table: JSON, deflated, in base64."""
        return base64.b64encode(zlib.compress(json.dumps(self, separators=(",", ":")).encode(), 9)).decode()

    @classmethod
    def read(cls, text: str) -> RunLanes:
        """Read such a cell."""
        ns, path, lanes = json.loads(zlib.decompress(base64.b64decode(text)))
        return cls(ns, _pieces(path), tuple(ThreadLane(name, own, _pieces(each)) for name, own, each in lanes))


def _pieces(read: Iterable[tuple[int, int, str, str, int, int]]) -> tuple[LanePiece, ...]:
    return tuple(LanePiece(one[0], one[1], TimeState(one[2]), one[3], one[4], one[5]) for one in read)
