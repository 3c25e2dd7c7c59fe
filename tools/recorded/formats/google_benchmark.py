"""Google Benchmark JSON (--benchmark_out): one row a repetition, rates and user counters as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from ....knowledge.errors import VgoError
from ..columns import listed
from ..recorded import RecordedRuns
from ..source import Format, TableSource
from .hyperfine import flat, load, looks_like

_RATES = ("items_per_second", "bytes_per_second")
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_KNOWN = {"family_index", "per_family_instance_index", "repetitions", "error_occurred", "error_message"}
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


def _read(source: TableSource) -> RecordedRuns:
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
    frame = pl.DataFrame([_row(one, unit) for one in worked], infer_schema_length=None)
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
        notes=tuple(_notes(file, made, worked, mixed)),
    )


def _row(one: _Repetition, unit: str) -> dict[str, Any]:
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


def _notes(file: _File, made: list[_Repetition], worked: list[_Repetition], mixed: bool) -> Iterator[str]:
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
    "google-benchmark", lambda source: looks_like(source, "benchmarks") and looks_like(source, "context"), _read
)
