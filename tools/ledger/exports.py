"""Where the time went, for figures and other programs: folded stacks, runs that stand for others, trace events."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...knowledge.terms import state_words
from ...knowledge.time_states import QUEUES, TimeState
from ...layers.probes.lanes import NO_LANE, LanePiece, RunLanes, ThreadLane
from ...layers.probes.opened import OpenedRun
from ..statistics.ratio_test import FEWEST
from .shares import slow_runs
from .split import SplitRuns, read_cell

SHORT = "short pieces"
"""Whose reason was not kept."""
ON_CPU = (TimeState.ON_CPU, TimeState.PEER_ON_CPU)
READY = (*QUEUES, TimeState.QUEUE)
PATH = "where the time went"
"""What the path of a run is called beside its threads."""
THREADS = 100
"""Numbers of the threads of the first run begin there, those of the second at twice as much."""
BEGINS = '{"traceEvents":'
"""Such a file."""


class FlameStack(NamedTuple):
    """Mean time of a run, in ms."""

    frames: tuple[str, ...]
    """What the timed thread was in, the waits that led on from there, what was done there."""
    fast_ms: float
    slow_ms: float


class FlameFrame(NamedTuple):
    """A frame of the mean slow run, with all that is on top of it."""

    name: str
    depth: int
    """0: nothing is below it."""
    left_ms: float
    slow_ms: float
    """How wide it is."""
    fast_ms: float


def flame_frames(stacks: Sequence[FlameStack], depth: int = 0, left_ms: float = 0.0) -> Iterator[FlameFrame]:
    """Lay stacks out from the left, the widest first; what only fast runs have is no wider than nothing."""
    below = defaultdict[str, list[FlameStack]](list)
    for one in stacks:
        if depth < len(one.frames):
            below[one.frames[depth]].append(one)
    frames = [(sum(one.slow_ms for one in each), name, each) for name, each in below.items()]
    for slow_ms, name, each in sorted(frames, key=lambda frame: (-frame[0], frame[1])):
        yield FlameFrame(name, depth, left_ms, slow_ms, sum(one.fast_ms for one in each))
        yield from flame_frames(each, depth + 1, left_ms)
        left_ms += slow_ms


def flame_stacks(split: SplitRuns) -> tuple[FlameStack, ...]:
    """The mean fast and slow run, whose stacks add up to its time; none where runs were not opened."""
    if not split.opened or split.time_ms.size < 2 or not split.time_ms.std():
        return ()
    slow, _ = slow_runs(split.time_ms, split.told)
    spent = defaultdict[tuple[str, ...], list[float]](lambda: [0.0, 0.0])
    number = (int((~slow).sum()), int(slow.sum()))
    for run, is_slow in zip(split.opened, np.asarray(slow).tolist(), strict=True):
        for frames, ms in _stacks(run):
            spent[frames][is_slow] += ms / number[is_slow]
    return tuple(FlameStack(frames, *each) for frames, each in sorted(spent.items()))


def folded(stacks: Iterable[FlameStack]) -> str:
    """As difffolded.pl writes them and flamegraph.pl reads them: frames, ms of the fast run, ms of the slow run."""
    lines = (
        f"{';'.join(frame.replace(';', ',') for frame in one.frames)} {one.fast_ms:.3f} {one.slow_ms:.3f}\n"
        for one in stacks
    )
    return "".join(lines)


def _stacks(run: OpenedRun) -> Iterator[tuple[tuple[str, ...], float]]:
    """Exact time; that on a CPU is divided in the ratio of the samples there."""
    sampled = defaultdict[tuple[str, str], Counter[tuple[str, str]]](Counter)
    for one in run.samples:
        sampled[one.what, one.via][state_words(one.kind), one.function] += one.samples
    for part in run.parts:
        waits = tuple(filter(None, part.via.split(" < ")))
        state, what = state_words(part.state), part.what or SHORT
        own = (state_words(part.own),) if part.own != part.state else ()
        if part.state not in (TimeState.ON_CPU, TimeState.PEER_ON_CPU):
            yield (*own, *waits, state, what), part.ms
            continue
        counts = sampled[part.what, part.via] or Counter({("", ""): 1})
        for (kind, function), samples in counts.items():
            on_cpu = kind if kind and part.state is TimeState.ON_CPU else state
            frames = (*own, *waits, on_cpu, *filter(None, (what, function)))
            yield frames, part.ms * samples / counts.total()


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


def trace_file(runs: Sequence[TypicalRun]) -> str:
    """Each run as a process: its path first, then its threads, with arrows from who ended a wait."""
    events = [event for process, run in enumerate(runs, 1) for event in _of_run(run, process)]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, separators=(",", ":")) + "\n"


def _of_run(run: TypicalRun, process: int) -> Iterator[dict[str, Any]]:
    first, names = THREADS * process, [lane.name for lane in run.lanes.lanes]
    yield _named("process_name", process, first, name=f"{run.name}, {run.ms:.2f} ms")
    yield _named("process_sort_index", process, first, sort_index=process)
    for place, name in enumerate((PATH, *names)):
        yield _named("thread_name", process, first + place, name=name)
        yield _named("thread_sort_index", process, first + place, sort_index=place)
    yield from _slices(run.lanes.path, process, first, names)
    for place, lane in enumerate(run.lanes.lanes, 1):
        yield from _slices(lane.pieces, process, first + place, names[:0])
    yield from _arrows(run, process)


def _named(what: str, process: int, thread: int, **said: str | int) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "ts": 0, "args": said}


def _slices(pieces: Iterable[LanePiece], process: int, thread: int, others: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Name each by its state and what was done there, for speedscope adds up what has the same name and arguments.

    On the path, say whose it was, where it was not the first thread's; of `others` the first is that.
    """
    for piece in pieces:
        start, end = microseconds(piece.start_ns), microseconds(piece.end_ns)
        if start == end:
            continue
        name = f"{state_words(piece.state)}: {piece.what}" if piece.what else state_words(piece.state)
        said = {"args": {"thread": others[piece.lane]}} if others and piece.lane > 0 else {}
        where = {"pid": process, "tid": thread, "ts": start, "dur": end - start}
        yield {"ph": "X", "name": name, "cat": piece.state.value, **where, **said}


def _arrows(run: TypicalRun, process: int) -> Iterator[dict[str, Any]]:
    """From the thread that ended a wait to what the waiting one does next."""
    first = THREADS * process + 1
    for place, lane in enumerate(run.lanes.lanes):
        for number, piece in enumerate(lane.pieces):
            if piece.lane in (NO_LANE, place):
                continue
            arrow = {"name": "woken", "cat": "waking", "pid": process, "ts": microseconds(piece.end_ns)}
            arrow["id"] = f"{process}.{place}.{number}"
            yield {**arrow, "ph": "s", "tid": first + piece.lane}
            yield {**arrow, "ph": "f", "bp": "e", "tid": first + place}


def microseconds(ns: int) -> int:
    """Round."""
    return (ns + 500) // 1000
