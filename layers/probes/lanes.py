"""What the threads of one run did side by side, kept in a cell of the run table: a lane for each, bounded in size.

They are cut from what the scheduler and the samples told.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from ...knowledge.time_states import QUEUES, TimeState
from .opened import Opener
from .region import Region
from .timeline import ChargedTime, Stretch

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
        ns, path, lanes = json.loads(zlib.decompress(base64.b64decode(text)))
        return cls(ns, _pieces(path), tuple(ThreadLane(name, own, _pieces(each)) for name, own, each in lanes))


def _pieces(read: Iterable[tuple[int, int, str, str, int, int]]) -> tuple[LanePiece, ...]:
    return tuple(LanePiece(one[0], one[1], TimeState(one[2]), one[3], one[4], one[5]) for one in read)


MOST_PIECES, MOST_LANES = 1000, 24
"""Of a run: what is short is put together until so many pieces are left; threads that matter less have no lane."""
FINEST = 1 << 14
"""Pieces shorter than this part of the window are put together first, then those twice as long, and so on."""
TimedT = TypeVar("TimedT", ChargedTime, Stretch)


def lanes_of(opener: Opener, path: Sequence[ChargedTime], region: Region) -> RunLanes:
    """The lanes of a run in a region of which `path` are the pieces that its time was charged to."""
    tasks = _kept(opener, path, region)
    walked = [[piece] for piece in path]
    lanes = [[[one] for one in _within(opener, task, region)] for task in tasks]
    shortest = (region.end - region.start) // FINEST + 1
    while len(walked) + sum(map(len, lanes)) > MOST_PIECES and shortest < 2 * (region.end - region.start):
        walked, lanes = _merged(walked, shortest), [_merged(lane, shortest) for lane in lanes]
        shortest *= 2
    shown = _ShownPieces(opener, region.start, {task: place for place, task in enumerate(tasks)}, path)
    threads = (
        ThreadLane(
            f"{opener.trace.name(task)} {task}",
            task in opener.timelines.tree,
            tuple(shown.of_lane(task, group) for group in lane),
        )
        for task, lane in zip(tasks, lanes, strict=True)
    )
    return RunLanes(region.end - region.start, tuple(map(shown.of_path, walked)), tuple(threads))


@dataclass(frozen=True)
class _ShownPieces:
    """Turns pieces that were put together into one that is shown."""

    opener: Opener
    zero: int
    places: Mapping[int, int]
    """Of the tasks that have a lane."""
    path: Sequence[ChargedTime]

    @cached_property
    def _throttled(self) -> Sequence[ChargedTime]:
        return [piece for piece in self.path if piece.state is TimeState.THROTTLED]

    def of_path(self, group: Sequence[ChargedTime]) -> LanePiece:
        most = _most(group, lambda piece: (piece.state, piece.task))
        ends = group[0].start - self.zero, group[-1].end - self.zero
        return LanePiece(*ends, most.state, self.opener.label(most), self.places.get(most.task, NO_LANE), len(group))

    def of_lane(self, task: int, group: Sequence[Stretch]) -> LanePiece:
        """Of a queue, whom it was behind longest, or that a quota held it back, as the path has it."""
        most = _most(group, lambda one: one.kind)
        piece = max(self.opener.timelines.charged(task, most, most.start, most.end), key=_length)
        held = [one for one in self._throttled if one.task == task and one.start < piece.end and one.end > piece.start]
        if held and piece.state in QUEUES:
            piece = piece._replace(state=TimeState.THROTTLED)
        lane, what = self.places.get(most.waker, NO_LANE), self.opener.label(piece)
        what = what if lane == NO_LANE else what.partition(", woken by ")[0]
        ends = group[0].start - self.zero, group[-1].end - self.zero
        return LanePiece(*ends, piece.state, what, lane, len(group))


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
