"""screen_levels: run the levels of a parameter in random rounds, and drop what is clearly worse than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ..knowledge.errors import VgoError
from ..knowledge.schema import Mitigation
from .apply_mitigation import applicable_here, refuse_unread
from .base import Arguments, Outcome, ToolError
from .case import Case
from .execution.expected import Expected
from .execution.series import Series
from .experiment.conditions import AS_GIVEN, AppliedConditions, Condition
from .experiment.experiment import Experiment, carry_out
from .experiment.race import Elimination, Race, tabled
from .failures import broken_by
from .look_up import out_of_reach
from .mitigation.by_hand import command_line
from .mitigation.parameters import with_values
from .plan import Aim
from .row import BASELINE
from .run_table import RunTable, artefacts
from .statistics.spread import ArmSummary, summarise
from .trial_results import OUT_OF_TIME, LevelResult, ScreenResult


class ScreenArguments(Arguments):
    """Which parameter of which mitigation, and how far to go."""

    mitigation: str
    values: dict[str, str] = {}
    """Of its other parameters."""
    parameter: str
    levels: Annotated[tuple[str, ...], Field(min_length=1)]
    minimise: Aim = "sd"
    rounds: Annotated[int, Field(ge=2, le=10_000)]
    """At most; in each, the baseline and every level that is left run once, in random order."""


def run(arguments: ScreenArguments, case: Case) -> Outcome:
    """Prove each level once, then run rounds until one is left or the rounds are over."""
    changes = {level: _changed(arguments, level, case) for level in arguments.levels}
    refuse_unread(case)
    bench, expected, source = case.measuring, case.findings.expected, str(case.plan.file or "")
    bench.expect(expected)
    race = _race(arguments, case, expected)
    conditions = {level: Condition(name=level, mitigation=one, source=source) for level, one in changes.items()}
    with (
        bench.series(case.call_id, planned=arguments.rounds * (1 + len(changes))) as series,
        AppliedConditions(bench, {BASELINE: AS_GIVEN, **conditions}, case.machine) as applied,
    ):
        _prove(race, applied, case)
        carry_out(Experiment(applied, race), series)
    result = _result(race, arguments, case, changes, series)
    return Outcome(result, artefacts(series.rows, bench.described_by(()), bench.executor.beside))


def _race(arguments: ScreenArguments, case: Case, expected: Expected) -> Race:
    limits, levels = case.limits, arguments.levels
    lower = case.subject.lower_is_better
    return Race(
        levels=levels,
        parameter=arguments.parameter,
        numbers=arguments.rounds,
        seed=f"{limits.seed}:{arguments.mitigation}:{arguments.parameter}",
        rule=Elimination.of(arguments.minimise, lower, limits.alpha, 1 + len(levels), arguments.rounds, limits.seed),
        broke=lambda level, rows: broken_by(level, rows, expected),
    )


def _changed(arguments: ScreenArguments, level: str, case: Case) -> Mitigation:
    """The mitigation at one level; what cannot be tried is for the planner to mend."""
    mitigation = applicable_here(arguments.mitigation, case)
    if not mitigation.interleavable:
        raise ToolError(
            f"{mitigation.key} cannot be switched between two runs: try one value after the other with `vgo-agent try`."
        )
    try:
        filled = with_values(mitigation, {**arguments.values, arguments.parameter: level}, case.machine)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused
    if reasons := out_of_reach(filled, case):
        raise ToolError(f"{mitigation.key} with {arguments.parameter}={level} cannot be applied: {reasons[0]}.")
    return filled


def _prove(race: Race, applied: AppliedConditions, case: Case) -> None:
    """Drop the levels that are not in force in the running program, before any run counts."""
    for level in race.levels:
        try:
            checks, broke = applied.prove(level)
        except VgoError as refused:
            race.drop(level, f"refused: {str(refused).rstrip('.')}")
            continue
        if case.measuring.deadline.over:
            raise ToolError(OUT_OF_TIME)
        failing = next((check for check in checks if not check.passed), None)
        if broke:
            race.drop(level, broke)
        elif failing:
            race.drop(level, failing.failure)


def _result(
    race: Race, arguments: ScreenArguments, case: Case, changes: Mapping[str, Mitigation], series: Series
) -> ScreenResult:
    rule, table = race.rule, tabled(series.rows)
    rounds = 1 + max((row["pair"] for row in series.rows), default=-1)
    best = min(race.left, key=lambda level: rule.badness(table, level), default=None)
    if best is not None and not rule.badness(table, best) < rule.badness(table, BASELINE):
        best = None
    levels = (
        LevelResult(
            level=level,
            summary=_summary(table, level),
            claim=rule.claim(table, level, BASELINE, case.limits.alpha),
            rounds=race.left_at.get(level, rounds),
            dropped=race.dropped.get(level, ""),
            command=command_line(changes[level], case.subject, case.machine),
        )
        for level in arguments.levels
    )
    return ScreenResult(
        mitigation=arguments.mitigation,
        parameter=arguments.parameter,
        minimise=arguments.minimise,
        rounds=rounds,
        failed=sum(row["ok"] == 0 for row in series.rows),
        spent_s=series.spent_s,
        baseline=LevelResult(level=BASELINE, summary=_summary(table, BASELINE), rounds=rounds),
        levels=tuple(levels),
        best=best,
        summary=_words(race, arguments, rounds, best),
    )


def _summary(table: RunTable, condition: str) -> ArmSummary | None:
    outcomes = table.outcome(condition)
    return summarise(outcomes) if outcomes.size else None


def _words(race: Race, arguments: ScreenArguments, rounds: int, best: str | None) -> str:
    name = race.parameter
    kept = f"{name}={best} has the least {arguments.minimise.replace('sd', 'spread')} and goes on to a batch"
    left = kept if best is not None else "no level has less than the baseline"
    return f"{len(race.levels)} levels of {name} in {rounds} rounds, {len(race.dropped)} dropped: {left}."
