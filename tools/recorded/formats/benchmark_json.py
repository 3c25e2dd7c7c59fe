"""JSON of benchmark libraries: of Google Benchmark one row a repetition, of pyperf one row a value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from ....knowledge.errors import VgoError
from ..columns import listed
from ..recorded import Format, RecordedRuns, TableSource
from .hyperfine import flat, load, looks_like

_RATES = ("items_per_second", "bytes_per_second")
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_KNOWN = {"family_index", "per_family_instance_index", "repetitions", "error_occurred", "error_message"}
_UNITS = {"second": "s", "byte": "bytes", "integer": ""}
_LEVELS = ("cpu_temp", "cpu_freq", "load_avg_1min", "mem_max_rss", "runnable_threads", "mem_peak_pagefile_usage")
_PART = re.compile(r"(?P<key>[^=]+)=(?P<number>[+-]?[0-9.]+)\s*(?P<unit>\S*)")
"""One of `2=3596 MHz, 3=1352 MHz`."""
_KNOWN |= {"aggregate_name", "aggregate_unit", "skipped", "skip_message"}
"""What is said of a repetition beside counters."""


class _Repetition(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    run_name: str = ""
    run_type: str = "iteration"
    repetition_index: int = 0
    threads: int = 1
    iterations: int = 0
    real_time: float = 0
    cpu_time: float = 0
    time_unit: Literal["ns", "us", "ms", "s"] = "ns"
    label: str = ""
    error_occurred: bool = False
    skipped: bool = False


class _File(BaseModel):
    context: dict[str, Any]
    benchmarks: list[_Repetition] = Field(min_length=1)


def _read_google(source: TableSource) -> RecordedRuns:
    file = load(source, _File, "Google Benchmark")
    made = [one for one in file.benchmarks if one.run_type != "aggregate" and "real_time" in one.model_fields_set]
    worked = [one for one in made if not (one.error_occurred or one.skipped)]
    if not worked:
        raise VgoError(
            f"{source.given} holds {'no repetition that worked' if made else 'aggregates only'}: record "
            "with --benchmark_repetitions=N and without --benchmark_report_aggregates_only."
        )
    units = {one.time_unit for one in worked}
    mixed = len(units) > 1
    unit = "ns" if mixed else worked[0].time_unit
    frame = pl.DataFrame([_repetition_row(one, unit) for one in worked], infer_schema_length=None)
    several = frame["benchmark"].n_unique() > 1
    rates = [name for name in _RATES if name in frame.columns]
    varied = frame["threads"].n_unique() > 1
    return RecordedRuns(
        frame,
        source.given,
        "google-benchmark",
        outcome="real_time",
        lower_is_better={"real_time": True, "cpu_time": True} | dict.fromkeys(rates, False),
        units={"real_time": unit, "cpu_time": unit} | {name: f"{name.partition('_')[0]}/s" for name in rates},
        roles={
            "real_time": "outcome",
            "benchmark": "setting" if several else "id",
            "repetition": "id",
            "label": "id",
            "threads": "setting" if varied else "id",
            "iterations": "id",
            **dict.fromkeys(("cpu_time", *rates), "consequence"),
        },
        system=dict(flat({key: value for key, value in file.context.items() if key != "caches"})),
        group=("benchmark",) if several else (),
        notes=tuple(_notes_of_google(file, made, worked, mixed)),
    )


def _repetition_row(one: _Repetition, unit: str) -> dict[str, Any]:
    scale = _NANOSECONDS[one.time_unit] / _NANOSECONDS[unit]
    counters = {
        name: value
        for name, value in (one.model_extra or {}).items()
        if name not in _KNOWN and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return {
        "benchmark": one.run_name or one.name,
        "repetition": one.repetition_index,
        "threads": one.threads,
        "iterations": one.iterations,
        "real_time": one.real_time * scale,
        "cpu_time": one.cpu_time * scale,
        **({"label": one.label} if one.label else {}),
        **{name: float(value) for name, value in counters.items()},
    }


def _notes_of_google(file: _File, made: list[_Repetition], worked: list[_Repetition], mixed: bool) -> Iterator[str]:
    aggregates = len(file.benchmarks) - len(made)
    if aggregates:
        yield f"{aggregates} aggregates (mean, median, ...) were left out."
    if len(made) > len(worked):
        failed = dict.fromkeys(one.run_name or one.name for one in made if one.error_occurred or one.skipped)
        yield f"{len(made) - len(worked)} repetitions failed or were skipped: left out ({listed(failed, 3)})."
    if mixed:
        yield "The benchmarks are in several units of time: all converted to ns."
    if max(one.repetition_index for one in worked) == 0:
        yield "Each benchmark has one repetition, a mean over many iterations: record --benchmark_repetitions=30."
    names = dict.fromkeys(one.run_name or one.name for one in worked)
    if len(names) > 1:
        yield f"{len(names)} benchmarks stand in one file: each is a group of its own."


GOOGLE_BENCHMARK = Format(
    "google-benchmark", lambda source: looks_like(source, "benchmarks") and looks_like(source, "context"), _read_google
)


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


def _read_pyperf(source: TableSource) -> RecordedRuns:
    suite = load(source, _Suite, "pyperf")
    several = len(suite.benchmarks) > 1
    units = [_unit_of_pyperf(suite, benchmark) for benchmark in suite.benchmarks]
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
        system=_system_of_pyperf(suite),
        group=("benchmark",) if several else (),
        notes=_notes_of_pyperf(suite, several),
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


def _unit_of_pyperf(suite: _Suite, benchmark: _Benchmark) -> str:
    named = benchmark.metadata.get("unit") or suite.metadata.get("unit") or "second"
    return _UNITS.get(str(named), str(named))


def _system_of_pyperf(suite: _Suite) -> dict[str, str]:
    """What is the same for all: the suite's metadata, and of the only benchmark its own."""
    shared = dict(suite.metadata)
    if len(suite.benchmarks) == 1:
        shared |= suite.benchmarks[0].metadata
    return dict(flat(shared))


def _notes_of_pyperf(suite: _Suite, several: bool) -> tuple[str, ...]:
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


PYPERF = Format("pyperf", lambda source: looks_like(source, "benchmarks") and looks_like(source, "runs"), _read_pyperf)
