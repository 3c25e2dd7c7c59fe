"""perf stat, -x (CSV) or -j (JSON), into a file with -o: one row a run or, with -I, an interval."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from ....knowledge.errors import VgoError
from ..columns import listed
from ..recorded import Format, RecordedRuns, TableSource
from .hyperfine import is_json

_STARTED = "# started on "
"""perf writes it above each run."""
_SEPARATORS = ",;|\t"
_VALUE = re.compile(r"\s*(?:[+-]?\d+\.?\d*|<not supported>|<not counted>)")
_TIME = re.compile(r"\s*\d+\.\d+")
_SHARE = re.compile(r"\d+\.\d+")
_UNITS = {"msec": "ms", "Joules": "J"}
_CONSEQUENCES = {"task-clock", "cpu-clock", "user_time", "system_time", "duration_time", "cycles", "cpu-cycles"}
_WHOLE = 99.995
"""Percent from which an event counts as counted all the time."""
_DURATION, _INTERVAL = "duration_time", "interval_end"
_PLACES = ("cpu", "core", "die", "node", "socket", "thread")
_CONSEQUENCES |= {"instructions", "ref-cycles", "bus-cycles"}
"""They grow with a longer run, whatever made it longer."""


class _Reading(NamedTuple):
    """What perf says of one event of one run."""

    event: str
    value: float | None
    unit: str
    share: float
    """Percent of the time in which it was counted."""
    time: float | None
    """Seconds since the start, at the end of the interval; None without -I."""
    several: bool
    """It is a mean over several runs (perf stat -r)."""


def _recognises(source: TableSource) -> bool:
    lines = [line for line in source.head.decode(errors="ignore").splitlines()[:50] if line.strip()]
    first = next((line for line in lines if not line.startswith("#")), "")
    return any(line.startswith(_STARTED) for line in lines[:1]) or bool(_first_mark(first)) or _is_json(source)


def _is_json(source: TableSource) -> bool:
    return is_json(source) and b'"counter-value"' in source.head


def _read(source: TableSource) -> RecordedRuns:
    rows = list(_rows(_readings(source)))
    if not rows:
        raise VgoError(f"{source.given} is of perf stat, but holds no event: give perf -x, or -j, and -o FILE.")
    readings = [reading for row in rows for reading in row]
    events = list(dict.fromkeys(reading.event for reading in readings))
    cells = [{reading.event: reading.value for reading in row} for row in rows]
    frame = pl.DataFrame({event: pl.Series([row.get(event) for row in cells], dtype=pl.Float64) for event in events})
    roles = {event: "consequence" for event in events if re.split(r"[:.]", event)[0] in _CONSEQUENCES}
    units = {reading.event: _UNITS.get(reading.unit, reading.unit) for reading in readings if reading.unit}
    times = [row[0].time for row in rows if row[0].time is not None]
    if times:
        frame = frame.with_columns(pl.Series(_INTERVAL, [row[0].time for row in rows], pl.Float64))
        roles |= {_INTERVAL: "id"}
        units |= {_INTERVAL: "s"}
    timed = _DURATION in events
    return RecordedRuns(
        frame,
        source.given,
        "perf stat",
        outcome=_DURATION if timed else None,
        lower_is_better={_DURATION: True} if timed else {},
        units=units,
        roles=roles | ({_DURATION: "outcome"} if timed else {}),
        notes=tuple(_notes(readings, times)),
    )


def _readings(source: TableSource) -> Iterator[_Reading | None]:
    """Give the events of the file in order, and None where a run begins."""
    lines = source.text().splitlines()
    mark = next(filter(None, map(_first_mark, lines)), ",")
    for number, line in enumerate(lines, 1):
        if line.startswith(_STARTED):
            yield None
        elif line.startswith("{"):
            yield from _of_json(line, f"{source.given}, line {number}")
        elif not line.startswith("#") and line.strip():
            yield from filter(None, [_of_fields(line.split(mark))])


def _of_json(line: str, where: str) -> Iterator[_Reading]:
    """Read one object; those without an event are metrics that perf worked out."""
    try:
        said = json.loads(line)
        if "event" not in said or "counter-value" not in said:
            return
        place = next((f".{said[key]}" for key in _PLACES if key in said), "")
        yield _Reading(
            event=said["event"] + place,
            value=_number(said["counter-value"]),
            unit=said.get("unit", ""),
            share=float(said.get("pcnt-running", 100)),
            time=said.get("interval"),
            several="variance" in said,
        )
    except json.JSONDecodeError as error:
        raise VgoError(f"{where}: {error.msg}: the JSON is cut short or damaged; record it again.") from error


def _of_fields(fields: Sequence[str]) -> _Reading | None:
    """Find the event by what follows it: nanoseconds counted, and the percentage of the time."""
    for place in range(2, len(fields) - 2):
        spread = fields[place + 1].endswith("%")
        counted, share, *_ = [*fields[place + 1 + spread : place + 3 + spread], "", ""]
        if counted.isdigit() and _SHARE.fullmatch(share) and _VALUE.fullmatch(fields[place - 2]):
            before = fields[: place - 2]
            time = float(before[0]) if before and _TIME.fullmatch(before[0]) else None
            where = next((f".{field}" for field in before if field and field[0].isalpha()), "")
            value = _number(fields[place - 2])
            return _Reading(fields[place] + where, value, fields[place - 1], float(share), time, spread)
    return None


def _first_mark(line: str) -> str:
    """Tell the separator of a line of events, "" where it is none."""
    return next((mark for mark in _SEPARATORS if _of_fields(line.split(mark))), "")


def _number(value: str) -> float | None:
    return None if value.strip().startswith("<") else float(value)


def _rows(readings: Iterator[_Reading | None]) -> Iterator[list[_Reading]]:
    """Begin a row where perf started, where another interval ends, and where an event comes again."""
    row: dict[str, _Reading] = {}
    for reading in readings:
        if row and (reading is None or reading.event in row or reading.time != next(iter(row.values())).time):
            yield list(row.values())
            row = {}
        if reading is not None:
            row[reading.event] = reading
    if row:
        yield list(row.values())


def _notes(readings: Sequence[_Reading], times: Sequence[float]) -> Iterator[str]:
    yield from _gaps(readings)
    if any(reading.several for reading in readings):
        yield "The values are means over several runs (perf stat -r), which hide how runs differ: record each run."
    if times:
        yield f"A row is an interval of perf stat -I, not a run: {len(times)} intervals."
    if any(after < before for before, after in pairwise(times)):
        yield "The intervals of several runs follow each other: their order is that of the file."


def _gaps(readings: Sequence[_Reading]) -> Iterator[str]:
    """Say what was not counted, or not all the time."""
    shares: dict[str, list[float]] = {reading.event: [] for reading in readings}
    for reading in readings:
        if reading.value is not None:
            shares[reading.event].append(reading.share)
    absent = [event for event, own in shares.items() if not own]
    if absent:
        yield f"perf could not count {listed(absent)} here: absent, not 0."
    for event, own in shares.items():
        if min(own, default=100.0) < _WHOLE:
            yield (
                f"{event} was counted only {min(own):.3g} to {max(own):.3g} % of the time, the rest is extrapolated: "
                "give perf fewer events at once."
            )


PERF_STAT = Format("perf stat", _recognises, _read)
