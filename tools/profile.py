"""profile: run again with metric layers that read system counters around each run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Arguments, Outcome, Result, Tool, ToolError
from .case import Case
from .measure import MeasureResult
from .row import BASELINE, FIXED
from .run_table import write_runs
from .statistics.spread import Summary, summarise


class ProfileArguments(Arguments):
    """Which layers, and how many runs."""

    layers: Annotated[tuple[str, ...], Field(min_length=1)]
    runs: Annotated[int, Field(ge=2, le=100_000)]
    max_seconds: Annotated[float, Field(gt=0)]
    """Of the user's program."""


class ProfileResult(Result):
    """The distribution with counters beside it."""

    layers: tuple[str, ...]
    runs: int
    failed: int
    spent_s: float
    outcome: Summary
    columns: int
    """Columns that were read."""
    absent: dict[str, str]
    """Columns that this machine does not show, with the reason."""
    cost_ratio: float | None
    """p5 with layers over p5 without: what profiling itself costs, untouched by the luck of how many runs are slow."""
    busy_cpus: float
    """CPU time over wall time, the median over runs: above 1, several CPUs work at once."""


def run(arguments: ProfileArguments, case: Case) -> Outcome:
    """Run with the probes of the layers around each run."""
    bench = case.measuring
    if unknown := set(arguments.layers) - set(case.limits.layers):
        raise ToolError(f"No layer {sorted(unknown)[0]}; there are {', '.join(case.limits.layers)}.")
    with bench.series(case.call_id, arguments.layers, planned=arguments.runs) as series:
        while len(series.rows) < arguments.runs and (not series.rows or series.spent_s < arguments.max_seconds):
            series.run(BASELINE, bench.launch)
    rows = [row for row in series.rows if row["ok"] == 1]
    if not rows:
        raise ToolError("No run with the layers on ended well.")
    summary = summarise(series.outcomes)
    before = case.record.latest("measure").read(MeasureResult).outcome.p5
    absent = {name: why for layer in arguments.layers for name, why in bench.probe(layer).absent().items()}
    busy = sorted((row["user_s"] + row["system_s"]) / row["wall_s"] for row in rows)[len(rows) // 2]
    columns = len(set().union(*rows) - set(FIXED))
    result = ProfileResult(
        layers=arguments.layers,
        runs=summary.n,
        failed=len(series.rows) - len(rows),
        spent_s=series.spent_s,
        outcome=summary,
        columns=columns,
        absent=absent,
        cost_ratio=summary.p5 / before if before else None,
        busy_cpus=busy,
        summary=f"{summary.n} runs with {columns} columns; {len(absent)} columns are absent on this machine.",
    )
    return Outcome(result, {"runs.csv": write_runs(series.rows)})


PROFILE = Tool(
    "profile",
    "Run with metric layers that count what the system did during each run.",
    ProfileArguments,
    ProfileResult,
    run,
    measures=True,
)
