"""The lanes of one run, cut from what the scheduler and the samples told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from .lanes import NO_LANE, LanePiece, RunLanes, ThreadLane
from .opened import Opener
from .region import Region
from .timeline import ChargedTime, Stretch

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
    what = opener.label(piece) if lane == NO_LANE else opener.label(piece).partition(", woken by ")[0]
    return LanePiece(*ends, piece.state, what, lane, len(group))


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
