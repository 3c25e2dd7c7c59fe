"""What the threads of one run did side by side, kept in a cell of the run table: a lane for each, bounded in size."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ...knowledge.time_states import TimeState
from .opened import Opener
from .region import Region
from .timeline import ChargedTime, Stretch

MOST_PIECES, MOST_LANES = 1000, 24
"""Of a run: what is short is put together until so many pieces are left; threads that matter less have no lane."""
FINEST = 1 << 14
"""Pieces shorter than this part of the window are put together first, then those twice as long, and so on."""
NO_LANE = -1
TimedT = TypeVar("TimedT", ChargedTime, Stretch)


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


def lanes_of(opener: Opener, path: Sequence[ChargedTime], region: Region) -> RunLanes:
    """The lanes of a run in a region of which `path` are the pieces that its time was charged to."""
    tasks = _kept(opener, path, region)
    walked = [[piece] for piece in path]
    lanes = [[[one] for one in _within(opener, task, region)] for task in tasks]
    shortest = (region.end - region.start) // FINEST + 1
    while len(walked) + sum(map(len, lanes)) > MOST_PIECES and shortest < 2 * (region.end - region.start):
        walked, lanes = _merged(walked, shortest), [_merged(lane, shortest) for lane in lanes]
        shortest *= 2
    places = {task: place for place, task in enumerate(tasks)}
    shown = (
        ThreadLane(
            f"{opener.trace.name(task)} {task}",
            task in opener.timelines.tree,
            tuple(_of_lane(opener, task, group, region.start, places) for group in lane),
        )
        for task, lane in zip(tasks, lanes, strict=True)
    )
    return RunLanes(
        region.end - region.start,
        tuple(_of_path(opener, group, region.start, places) for group in walked),
        tuple(shown),
    )


def _kept(opener: Opener, path: Iterable[ChargedTime], region: Region) -> list[int]:
    """Tasks with a lane: those with most time on the path, on a CPU, or in which a task of the program waited."""
    timelines, weight = opener.timelines, Counter[int]()
    for piece in path:
        weight[piece.task] += _length(piece)
    for task in sorted(timelines.tree):
        for one in _within(opener, task, region):
            if one.kind != "queue":
                weight[one.waker if one.kind == "blocked" else task] += _length(one)
    del weight[0]
    began = {task: next((one.start for one in _within(opener, task, region)), region.end) for task in weight}
    most = [task for task, _ in weight.most_common(MOST_LANES) if task != region.task]
    return [region.task, *sorted(most, key=lambda task: (task not in timelines.tree, began[task], task))]


def _within(opener: Opener, task: int, region: Region) -> Iterator[Stretch]:
    for one in opener.timelines.tasks.get(task, ()):
        if one.start < region.end and one.end > region.start:
            inside = region.start <= one.start and one.end <= region.end
            yield one if inside else one._replace(start=max(one.start, region.start), end=min(one.end, region.end))


def _of_path(opener: Opener, group: Sequence[ChargedTime], zero: int, places: Mapping[int, int]) -> LanePiece:
    most = _most(group, lambda piece: (piece.state, piece.task))
    ends, lane = (group[0].start - zero, group[-1].end - zero), places.get(most.task, NO_LANE)
    return LanePiece(*ends, most.state, opener.label(most), lane, len(group))


def _of_lane(opener: Opener, task: int, group: Sequence[Stretch], zero: int, places: Mapping[int, int]) -> LanePiece:
    """Of a queue, whom it was behind longest."""
    most = _most(group, lambda one: one.kind)
    piece = max(opener.timelines.charged(task, most, most.start, most.end), key=_length)
    ends, lane = (group[0].start - zero, group[-1].end - zero), places.get(most.waker, NO_LANE)
    return LanePiece(*ends, piece.state, opener.label(piece), lane, len(group))


def _merged(groups: Iterable[list[TimedT]], shortest: int) -> list[list[TimedT]]:
    """Put neighbours together that are shorter than `shortest`."""
    merged: list[list[TimedT]] = []
    long = True
    for group in groups:
        was_long, long = long, group[-1].end - group[0].start >= shortest
        if was_long or long or merged[-1][-1].end != group[0].start:
            merged.append(group)
        else:
            merged[-1] += group
            long = group[-1].end - merged[-1][0].start >= shortest
    return merged


def _length(one: ChargedTime | Stretch) -> int:
    return one.end - one.start


def _most(group: Sequence[TimedT], kind: Callable[[TimedT], object]) -> TimedT:
    """The longest of the kind that most of the time belongs to."""
    if len(group) == 1:
        return group[0]
    spent = Counter[object]()
    for one in group:
        spent[kind(one)] += _length(one)
    most = spent.most_common(1)[0][0]
    return max((one for one in group if kind(one) == most), key=_length)
