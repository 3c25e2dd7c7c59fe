"""Two runs as a file of trace events, which Perfetto, chrome://tracing and speedscope open.

The format: Nicholas Duca and Dan Sinclair, Trace Event Format (Google). Times are whole microseconds, so that slices
that follow each other do not overlap by rounding; every event has a time, since speedscope wants one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...knowledge.states import state_words
from ...layers.probes.lanes import NO_LANE, LanePiece
from .run_timeline import PATH, TypicalRun

THREADS = 100
"""Numbers of the threads of the first run begin there, those of the second at twice as much."""
BEGINS = '{"traceEvents":'
"""Such a file."""


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
