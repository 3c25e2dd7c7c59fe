"""pyperf JSON: one row a value, with what pyperf noted about the process that measured it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl
from pydantic import BaseModel, Field

from ..recorded import RecordedRuns
from ..source import Format, TableSource
from .hyperfine import flat, load, looks_like

_UNITS = {"second": "s", "byte": "bytes", "integer": ""}
_LEVELS = ("cpu_temp", "cpu_freq", "load_avg_1min", "mem_max_rss", "runnable_threads", "mem_peak_pagefile_usage")
_PART = re.compile(r"(?P<key>[^=]+)=(?P<number>[+-]?[0-9.]+)\s*(?P<unit>\S*)")
"""One of `2=3596 MHz, 3=1352 MHz`."""


class _Run(BaseModel):
    metadata: dict[str, Any] = {}
    values: list[float] = []
    warmups: list[Any] = []


class _Benchmark(BaseModel):
    runs: list[_Run]
    metadata: dict[str, Any] = {}


class _Suite(BaseModel):
    benchmarks: list[_Benchmark] = Field(min_length=1)
    metadata: dict[str, Any] = {}


def _read(source: TableSource) -> RecordedRuns:
    suite = load(source, _Suite, "pyperf")
    several = len(suite.benchmarks) > 1
    units = [_unit(suite, benchmark) for benchmark in suite.benchmarks]
    mixed = len(set(units)) > 1
    measured = {key for benchmark in suite.benchmarks for run in benchmark.runs for key in run.metadata}
    rows = [
        row | ({"unit": units[index]} if mixed else {})
        for index, benchmark in enumerate(suite.benchmarks)
        for row in _rows(benchmark, index, measured)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if not several and not frame.is_empty():
        frame = frame.drop("benchmark")
    return RecordedRuns(
        frame,
        source.given,
        "pyperf",
        outcome="value",
        lower_is_better={"value": True},
        units={} if mixed else {"value": units[0]},
        roles={
            "process": "id",
            "value_index": "id",
            "date": "id",
            "uptime": "id",
            "duration": "consequence",
            "benchmark": "setting",
        },
        levels=frozenset(name for name in frame.columns if name.startswith(_LEVELS)),
        system=_system(suite),
        group=("benchmark",) if several else (),
        notes=_notes(suite, several),
    )


def _rows(benchmark: _Benchmark, index: int, measured: Collection[str]) -> Iterator[dict[str, Any]]:
    """Give one row a value; pyperf notes what was the same in all processes once, with the benchmark."""
    name = str(benchmark.metadata.get("name", index))
    same = {key: value for key, value in benchmark.metadata.items() if key in measured}
    for process, run in enumerate(benchmark.runs):
        noted = dict(_numbers({**same, **run.metadata}))
        for place, value in enumerate(run.values):
            yield {"benchmark": name, "process": process, "value_index": place, "value": value} | noted


def _numbers(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Take numbers as they are and take lists such as `2=3596 MHz, 3=1352 MHz` apart; the date stays text."""
    for key, value in metadata.items():
        if isinstance(value, int | float) or key == "date":
            yield key, value
        elif isinstance(value, str):
            parts = [_PART.fullmatch(part.strip()) for part in value.split(",")]
            for part in parts:
                if part:
                    yield f"{key}.{part['key']}", float(part["number"])


def _unit(suite: _Suite, benchmark: _Benchmark) -> str:
    named = benchmark.metadata.get("unit") or suite.metadata.get("unit") or "second"
    return _UNITS.get(str(named), str(named))


def _system(suite: _Suite) -> dict[str, str]:
    """What is the same for all: the suite's metadata, and of the only benchmark its own."""
    shared = dict(suite.metadata)
    if len(suite.benchmarks) == 1:
        shared |= suite.benchmarks[0].metadata
    return dict(flat(shared))


def _notes(suite: _Suite, several: bool) -> tuple[str, ...]:
    runs = [run for benchmark in suite.benchmarks for run in benchmark.runs]
    warmups = sum(len(run.warmups) for run in runs)
    silent = sum(not run.values for run in runs)
    notes = [f"{warmups} warm-up values were left out."] if warmups else []
    if silent:
        notes.append(f"Processes that only calibrated or warmed up were left out: {silent}.")
    if any(len(run.values) > 1 for run in runs):
        notes.append(
            "Several values come from one process and share its metadata: they are less independent than as many runs."
        )
    if several:
        notes.append(f"{len(suite.benchmarks)} benchmarks stand in one file: each is a group of its own.")
    return tuple(notes)


PYPERF = Format("pyperf", lambda source: looks_like(source, "benchmarks") and looks_like(source, "runs"), _read)
