"""measure: run the program until its spread is known, without any layer."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from .amount import amount
from .base import Arguments, Outcome, Result, Tool
from .case import Case
from .execution.bench import Series
from .row import BASELINE
from .run_table import write_runs
from .statistics.shape.describe import Shape, describe
from .statistics.spread import Summary, log_sd_interval, summarise
from .statistics.stopping.power import pairs_needed
from .statistics.stopping.spread_known import next_look, spread_known
from .statistics.values import Interval

StoppedBy = Literal["spread known", "run cap", "time cap"]
LEAST = 10
"""Fewer runs than this say nothing about spread, whatever was asked for."""
FLOOR = 30
"""Fewer say nothing unless fewer were asked for."""


class MeasureArguments(Arguments):
    """How long to go on at most."""

    max_runs: Annotated[int, Field(ge=2, le=100_000)]
    max_seconds: Annotated[float, Field(gt=0)]
    """Of the user's program."""


class MeasureResult(Result):
    """The baseline distribution."""

    runs: int
    """Runs that count, warm-up left out."""
    failed: int
    survivors: int
    """Processes that runs left behind; they were ended."""
    warm_up: int
    """First runs left out as a start-up transient."""
    stopped_by: StoppedBy
    spent_s: float
    outcome: Summary
    sd_interval: Interval | None
    """95 %, in the unit of the outcome; None where it is undefined."""
    shape: Shape
    unusable: str = ""
    """Why these runs cannot say anything, with the cure; empty when they can."""
    steady: bool
    """The coefficient of variation is at or below the limit asked for."""
    pairs_needed: int
    """Pairs that show the target ratio of SDs with 80 % power on this distribution."""


def run(arguments: MeasureArguments, case: Case) -> Outcome:
    """Run, looking at the spread every tenth more runs, until it is known or a cap is reached."""
    bench = case.measuring
    with bench.series(case.call_id) as series:
        look = case.limits.min_runs
        while (stopped := _stopped(series, arguments, look, case.limits.min_runs)) is None:
            series.run(BASELINE, bench.launch)
            if len(series.outcomes) > look:  # the look at `look` runs has been taken
                look = next_look(look)
    return Outcome(_result(series, case, stopped), {"runs.csv": write_runs(series.rows)})


def _stopped(series: Series, arguments: MeasureArguments, look: int, least: int) -> StoppedBy | None:
    runs = len(series.outcomes)
    if len(series.rows) >= arguments.max_runs:
        return "run cap"
    if series.spent_s >= arguments.max_seconds and runs:
        return "time cap"
    if runs == look and spread_known(series.outcomes, minimum=least).known:
        return "spread known"
    return None


def _result(series: Series, case: Case, stopped: StoppedBy) -> MeasureResult:
    outcomes = np.array(series.outcomes)
    shape = describe(outcomes)
    steady_part = outcomes[shape.warm_up :]
    summary = summarise(steady_part)
    unusable = _unusable(summary, shape, case)
    cv = summary.cv or 0.0
    return MeasureResult(
        runs=summary.n,
        failed=sum(row["ok"] == 0 for row in series.rows),
        survivors=sum(row["survivors"] for row in series.rows),
        warm_up=shape.warm_up,
        stopped_by=stopped,
        spent_s=series.spent_s,
        outcome=summary,
        sd_interval=log_sd_interval(steady_part),
        shape=shape,
        unusable=unusable,
        steady=not unusable and abs(cv) <= case.limits.steady_cv,
        pairs_needed=pairs_needed(steady_part, ratio=case.limits.target_ratio),
        summary=unusable
        or f"{summary.n} runs: median {amount(summary.median, case.subject.unit)}, "
        f"CV {100 * cv:.2g} %, p99 {amount(summary.p99, case.subject.unit)}; stopped by {stopped}.",
    )


def _unusable(summary: Summary, shape: Shape, case: Case) -> str:
    """Say why nothing can be concluded, and what cures it."""
    least = max(LEAST, min(FLOOR, case.limits.min_runs))
    if summary.n < least:
        return (
            f"Only {summary.n} runs count, and a spread needs at least {least}; "
            "raise --max-runs or --budget, or give a shorter command."
        )
    if shape.all_equal:
        return (
            f"All {summary.n} runs gave {summary.median:g}, so nothing varies at this resolution; "
            "print more digits, or choose another --metric."
        )
    if shape.clock_too_coarse:
        return (
            f"The clock behind the outcome steps by {shape.resolution:g}, which is coarser than the spread; "
            "print more digits, or judge by wall time (no --metric)."
        )
    return ""


MEASURE = Tool(
    "measure",
    "Run the program without layers until its spread is known.",
    MeasureArguments,
    MeasureResult,
    run,
    measures=True,
)
