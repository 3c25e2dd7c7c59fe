"""measure: run the program without any layer until a stopping rule says that it is enough; by default, the spread."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from ...knowledge.errors import VgoError
from ..amount import LONGEST, amount
from ..case import Case, Choices, Situation, Suggestion, seconds_amounts, whole_amounts
from ..execution.launcher_time import LauncherTimer
from ..execution.series import Series
from ..experiment.conditions import AppliedConditions
from ..experiment.experiment import FEWEST_S, Experiment, Limit, carry_out
from ..experiment.schedules import Repeat
from ..failures import HUNG, Failures, failed_words, failures_of
from ..findings import Findings
from ..hosts import hosts_of
from ..record import Arguments, JsonArguments, Outcome
from ..results import MeasureResult
from ..run_table import artefacts
from ..simulated import World, shape_of, stumble, summary_of
from ..statistics.ratio_test import FEWEST
from ..statistics.shape.describe import DistributionShape, describe
from ..statistics.spread import ArmSummary, log_sd_interval, summarise
from ..statistics.stopping.decisions import OutcomesSoFar, Stopping
from ..statistics.stopping.power import pairs_needed
from ..statistics.stopping.rules import RULES, StoppingRule, looks
from ..subject import Limits
from ..tool import Tool

FLOOR = 30
"""Fewer say nothing unless fewer were asked for."""
LEAST_PROCESSES = 10
"""Runs of a program that give several samples each: what the samples of a run share shows only between runs."""
SHARE = 0.12
"""Of the budget; most of the rest re-measures mitigations, which is where proof comes from."""


class MeasureArguments(Arguments):
    """How long to go on at most."""

    max_runs: Annotated[int, Field(ge=2, le=100_000)]
    max_seconds: Annotated[float, Field(gt=0, le=LONGEST)]
    """By the clock; three times as many for the fewest runs that say anything."""


def fewest(limits: Limits) -> int:
    """Runs without which a baseline says nothing."""
    return max(FEWEST, min(FLOOR, limits.min_runs))


def run(arguments: MeasureArguments, case: Case) -> Outcome:
    """Run, asking the rule again and again, until it says stop or a cap is reached."""
    bench, enough = case.measuring, Enough.of(case)
    limit = Limit(runs=arguments.max_runs, seconds=arguments.max_seconds, least=fewest(case.limits))
    schedule, timer = Repeat(arguments.max_runs), LauncherTimer(bench, arguments.max_seconds)
    timer.time()
    with bench.series(case.call_id) as series:
        stopped = carry_out(Experiment(AppliedConditions(bench), schedule, enough, limit), series)
    if series.over and not series.outcomes:
        raise _no_outcome(series)
    left = artefacts(series.rows, bench.described_by(()), bench.executor.beside)
    result = _result(series, case, stopped, enough)
    timer.time()
    alone = timer.alone()
    launcher = alone.beside(np.array(series.outcomes)[result.warm_up :]) if alone else None
    said = f"{result.summary} {launcher.words}".rstrip() if launcher else result.summary
    return Outcome(result.model_copy(update={"launcher": launcher, "summary": said}), left)


@dataclass
class Enough:
    """The rule in force, and what it said last."""

    rule: StoppingRule
    target: float
    looks: Iterator[int]
    due: int
    """The runs at which the rule is asked next."""
    said: Stopping | None = None

    @classmethod
    def of(cls, case: Case) -> Enough:
        """Take the rule from the limits."""
        rule = RULES[case.limits.stop]
        times = looks(rule, case.limits.min_runs)
        return cls(rule, case.limits.stop_at or rule.target, times, next(times))

    def __call__(self, series: Series) -> str:
        """Say in two words why it is enough; empty while it is not."""
        return self.rule.met if self._met(series) else ""

    def _met(self, series: Series) -> bool:
        """Ask the rule when a look came due with the last run, which may have given several samples.

        A series that goes on after a crash is looked at as an unbroken one.
        """
        outcomes = series.outcomes
        while self.due <= len(outcomes) - series.last_gave:
            self.due = next(self.looks)
        if self.due > len(outcomes) or few_runs(series):
            return False
        self.said = self.rule.decide(OutcomesSoFar.of(outcomes, series.spent_s), self.target)
        return self.said.known


def few_runs(series: Series) -> bool:
    """Tell whether samples come from too few runs to know how much runs differ."""
    return len(series.rows) > series.processes and series.processes < LEAST_PROCESSES


def _counted(count: int, series: Series) -> str:
    return f"{count} runs" if len(series.rows) == series.processes else f"{count} samples of {series.processes} runs"


def _result(series: Series, case: Case, stopped: str, enough: Enough) -> MeasureResult:
    outcomes = np.array(series.outcomes)
    shape = describe(outcomes)
    steady_part = outcomes[shape.warm_up :]
    summary = summarise(steady_part)
    failed = failures_of(series.rows)
    unusable = _unusable(summary, shape, case, failed, stopped)
    cv = summary.cv or 0.0
    return MeasureResult(
        runs=summary.n,
        failed=sum(row["ok"] == 0 for row in series.rows),
        failures=failed,
        survivors=sum(row["survivors"] for row in series.rows),
        warm_up=shape.warm_up,
        stopped_by=stopped,
        stop_rule=enough.rule.name,
        stop_reason=enough.said.reason if enough.said else "",
        spent_s=series.spent_s,
        processes=series.processes,
        outcome=summary,
        sd_interval=None if few_runs(series) else log_sd_interval(steady_part),
        shape=shape,
        unusable=unusable,
        steady=not unusable and abs(cv) <= case.limits.steady_cv,
        hosts=hosts_of(
            series.rows,
            series.bench.described_by(()),
            lower_is_better=case.subject.lower_is_better,
            alpha=case.limits.alpha,
            lost=series.bench.executor.lost,
        ),
        pairs_needed=pairs_needed(steady_part, ratio=case.limits.target_ratio),
        summary=unusable
        or f"{_counted(summary.n, series)}: median {amount(summary.median, case.subject.unit)}, "
        f"CV {100 * cv:.2g} %, p99 {amount(summary.p99, case.subject.unit)}; stopped by {stopped}."
        + (f" Failed: {failed_words(failed)}." if failed else ""),
    )


def _no_outcome(series: Series) -> VgoError:
    deadline, failed = series.bench.deadline, failures_of(series.rows)
    if not failed:
        return deadline.no_run(series.cut)
    return VgoError(
        f"No run ended well within the budget of {deadline.budget_s:g} s{_failing(failed)}; "
        f"{_sooner(failed)}raise --budget."
    )


def _sooner(failed: Sequence[Failures]) -> str:
    return "end runs that hang sooner with --timeout, or " * any(HUNG in one.reason for one in failed)


def _warming(left_out: int) -> str:
    return f" (the first {left_out} are left out: they are a start-up transient)" if left_out else ""


def _failing(failures: Sequence[Failures]) -> str:
    return f" ({failed_words(failures)})" if failures else ""


def _unusable(
    summary: ArmSummary, shape: DistributionShape, case: Case, failed: Sequence[Failures], stopped: str
) -> str:
    least = fewest(case.limits)
    if summary.n < least:
        without, cure = _warming(shape.warm_up) + _failing(failed), "raise --max-runs"
        if stopped == "time cap":
            without += f", as many as fitted into the budget of {case.limits.budget_s:g} s beside what comes after"
            cure = "raise --budget, or give a shorter command"
        counted = "run counts" if summary.n == 1 else "runs count"
        return f"Only {summary.n} {counted}{without}, and a spread needs at least {least}; {_sooner(failed)}{cure}."
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


class MeasureTool(Tool[MeasureArguments, MeasureResult], run=run, measures=True):
    """Run the program without layers until its spread is known."""

    def legal(self, situation: Situation) -> Choices | None:
        """Once."""
        return () if situation.findings.measured is None else None

    def usual(self, situation: Situation, _: Choices) -> Suggestion:
        """Until the spread is known, within its share of the budget."""
        limits = situation.limits
        arguments = {"max_runs": limits.max_runs, "max_seconds": limits.budget_s * SHARE}
        return Suggestion(arguments, "the baseline comes first")

    def amounts(self, situation: Situation, _: Choices) -> Choices:
        """Runs and seconds."""
        limits = situation.limits
        runs = whole_amounts("max_runs", limits.max_runs, limits.min_runs, limits.max_runs)
        return runs, seconds_amounts("max_seconds", limits.budget_s * SHARE)

    def simulate(self, world: World, _: Findings, arguments: JsonArguments, chance: random.Random) -> MeasureResult:
        """Run until the rule is content, or runs or seconds are used up."""
        stumble(world, chance)
        least, once = fewest(world.limits), arguments["max_seconds"] / world.run_s
        paid = max(2, int(max(once, min(least, FEWEST_S * once))))
        runs = min(world.enough, int(arguments["max_runs"]), paid)
        unusable = f"Only {runs} runs count, and a spread needs at least {least}." if runs < least else ""
        stopped = "spread known" if runs == world.enough else "time cap" if runs == paid else "run cap"
        cv = world.cv * math.exp(chance.gauss(0, 1 / math.sqrt(runs)))
        return MeasureResult(
            runs=runs,
            failed=0,
            survivors=0,
            warm_up=0,
            stopped_by=stopped,
            spent_s=runs * world.run_s,
            outcome=summary_of(runs, world.run_s, cv),
            sd_interval=None,
            processes=runs,
            shape=shape_of(runs, world.run_s, chance.choice((1, 1, 2, 3)), chance.random() < 0.4),
            unusable=unusable,
            steady=not unusable and cv <= world.limits.steady_cv,
            pairs_needed=world.needed,
            summary=unusable or f"{runs} runs, CV {100 * cv:.2g} %; stopped by {stopped}.",
        )
