"""screen_levels: run the levels of a parameter in random rounds, and drop what is clearly worse than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..case import Case, Choices, Situation, Slot, Suggestion, first, whole_amounts
from ..execution.expected import Expected
from ..execution.series import Series
from ..experiment.conditions import AS_GIVEN, AppliedConditions, Condition
from ..experiment.experiment import Experiment, carry_out
from ..experiment.race import Elimination, Race, tabled
from ..failures import broken_by
from ..mitigation.by_hand import command_line
from ..mitigation.parameters import with_values
from ..record import Arguments, Outcome, ToolError
from ..row import BASELINE
from ..run_table import RunTable, artefacts
from ..statistics.spread import ArmSummary, summarise
from ..subject import Aim
from ..tool import Tool
from ..trial_results import OUT_OF_TIME, LevelResult, ScreenResult
from .look_up import applicable_here, out_of_reach, refuse_unread

SHARE = 0.5
"""Of what is left of the budget."""
LEAST_ROUNDS, MOST_ROUNDS = 20, 160


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


def left_to_screen(situation: Situation) -> bool:
    """Tell whether the user wants a level searched, and nothing but time has kept it from being done."""
    done = any(call.error != OUT_OF_TIME for call in situation.findings.called("screen_levels"))
    return situation.plan.search is not None and not done


def _rounds(situation: Situation) -> int:
    plan = situation.plan
    arms = 1 + len(plan.search.levels if plan.search else ())
    affordable = int(situation.affordable_pairs() * 2 * SHARE / arms)
    most = min(situation.limits.max_runs, plan.pairs or MOST_ROUNDS)
    return max(min(LEAST_ROUNDS, most), min(most, affordable))


class ScreenLevelsTool(Tool[ScreenArguments, ScreenResult], run=run, title="Screen levels of", applies="itself"):
    """Run the levels of a mitigation's parameter in random rounds, and drop what is clearly worse."""

    def legal(self, situation: Situation) -> Choices | None:
        """Once, after the profile."""
        measured, plan, search = situation.findings.measured, situation.plan, situation.plan.search
        profiled = situation.findings.called("profile")
        if search is None or not left_to_screen(situation) or plan.by_hand or not profiled or not situation.time_left:
            return None
        if measured is None or measured.unusable:
            return None
        chosen = {
            "mitigation": plan.mitigation,
            "values": plan.values,
            "parameter": search.parameter,
            "levels": list(search.levels),
            "minimise": search.minimise,
        }
        return tuple(Slot((name,), ((value,),)) for name, value in chosen.items())

    def usual(self, situation: Situation, choices: Choices) -> Suggestion:
        """As many rounds as are paid for."""
        return Suggestion({**first(choices), "rounds": _rounds(situation)}, "run every level in random rounds")

    def amounts(self, situation: Situation, _: Choices) -> Choices:
        """Rounds."""
        return (whole_amounts("rounds", _rounds(situation), 2, max(2, situation.limits.max_runs)),)

    def missed(self, now: Choices | None, _: Choices) -> tuple[str, ...]:
        """Name it where there is no time for it."""
        return ("a screening of its levels",) if now is None else ()
