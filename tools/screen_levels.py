"""screen_levels: run the levels of a parameter in random rounds, and drop what is clearly worse than another."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated

from pydantic import Field

from ..knowledge.errors import VgoError
from ..knowledge.schema import Mitigation
from .apply_mitigation import OUT_OF_TIME, refuse_unread
from .base import Arguments, Outcome, Result, ToolError
from .case import Case
from .claim import Claim, TooFew
from .elimination import Rule, eliminated, looks
from .execution.executor import BARRIER, Piece, Turn
from .execution.expected import Expected
from .execution.series import Change, Series
from .execution.treated import Treated
from .failures import broken_by, expected_of
from .levels import Levels
from .look_up import busy_cpus, out_of_reach
from .mitigation.launching import command_line
from .mitigation.parameters import with_values
from .mitigation.preconditions import unmet
from .one_level import on_one_level
from .plan import Aim
from .row import BASELINE, Row
from .run_table import RunTable, artefacts, outcomes_of
from .statistics.spread import ArmSummary, summarise
from .subject import Frozen


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


class Level(Frozen):
    """One level, or the baseline."""

    level: str
    summary: ArmSummary | None
    """None where no run counts."""
    claim: Claim | TooFew | None = None
    """Of what is to be small, round by round, alone: for the eye, since the level was not chosen before."""
    rounds: int
    dropped: str = ""
    """Why it was not run to the end; empty where it was."""
    command: str = ""
    """The command line that reproduces it by hand."""


class ScreenResult(Result):
    """The levels, and the one to confirm."""

    mitigation: str
    parameter: str
    minimise: Aim
    rounds: int
    failed: int
    spent_s: float
    baseline: Level
    levels: tuple[Level, ...]
    alpha_each: float
    """Level of a test of one pair of levels at one look, so that over all of them alpha holds."""
    best: str | None
    """The level left with the least; None where none is less than the baseline."""


def run(arguments: ScreenArguments, case: Case) -> Outcome:
    """Prove each level once, then run rounds until one is left or the rounds are over."""
    changes = {level: _changed(arguments, level, case) for level in arguments.levels}
    refuse_unread(case)
    racing = Race(arguments, case, changes)
    bench, expected = case.measuring, expected_of(case.record)
    bench.expect(expected)
    with bench.series(case.call_id, planned=arguments.rounds * (1 + len(changes))) as series:
        racing.prove()
        racing.go(series, expected)
    result = _result(racing, series)
    return Outcome(result, artefacts(series.rows, bench.described_by(()), bench.executor.beside))


def _changed(arguments: ScreenArguments, level: str, case: Case) -> Mitigation:
    """The mitigation at one level; what cannot be tried is for the planner to mend."""
    mitigation = case.knowledge.mitigations.get(arguments.mitigation)
    if mitigation is None or mitigation.apply is None:
        raise ToolError(f"{arguments.mitigation} is not a mitigation that the tool can apply.")
    if reasons := (
        *unmet(mitigation.applies, case.machine, case.subject, busy_cpus(case)),
        *_unreachable(mitigation, case),
    ):
        raise ToolError(f"{mitigation.key} does not apply here: {reasons[0]}.")
    try:
        filled = with_values(mitigation, {**arguments.values, arguments.parameter: level}, case.machine)
    except VgoError as refused:
        raise ToolError(str(refused)) from refused
    if reasons := out_of_reach(filled, case):
        raise ToolError(f"{mitigation.key} with {arguments.parameter}={level} cannot be applied: {reasons[0]}.")
    return filled


def _unreachable(mitigation: Mitigation, case: Case) -> tuple[str, ...]:
    if not mitigation.interleavable:
        return ("it cannot be switched between two runs, so try one value after the other with `vgo-agent try`",)
    return ()


class Race:
    """The levels that are still there, and why the others are not."""

    def __init__(self, arguments: ScreenArguments, case: Case, changes: Mapping[str, Mitigation]) -> None:
        """Let all levels and the baseline begin."""
        self.arguments = arguments
        self.case = case
        self.changes = changes
        self.dropped: dict[str, str] = {}
        self.left_at: dict[str, int] = {}
        self.rule = Rule.of(
            arguments.minimise,
            case.subject.lower_is_better,
            case.limits.alpha,
            1 + len(changes),
            arguments.rounds,
            case.limits.seed,
        )

    @property
    def left(self) -> tuple[str, ...]:
        """Levels that still run."""
        return tuple(level for level in self.changes if level not in self.dropped)

    def prove(self) -> None:
        """Drop the levels that are not in force in the running program, before any run counts."""
        for level, mitigation in self.changes.items():
            try:
                with self._applied(mitigation) as change:
                    checks, broke = self.case.measuring.prove(change)
            except VgoError as refused:
                self._drop(level, f"refused: {str(refused).rstrip('.')}", 0)
                continue
            if self.case.measuring.deadline.over:
                raise ToolError(OUT_OF_TIME)
            failing = next((check for check in checks if not check.passed), None)
            if broke:
                self._drop(level, broke, 0)
            elif failing:
                self._drop(level, f"not in force: {failing.what} is {failing.seen}, expected {failing.expected}", 0)

    def go(self, series: Series, expected: Expected) -> None:
        """Run rounds; a series that was cut off goes on where it was, with the same draws."""
        levels = Levels(levels=dict(self.changes), source=str(self.case.plan.file or ""))
        with levels.opened(self.case.measuring, self.case.machine, set()) as take:
            series.carry_out(self._rounds(series), lambda: self._break(series.rows, expected), Treated(take, levels.of))

    def _break(self, rows: Sequence[Row], expected: Expected) -> bool:
        """Drop the levels that make the program fail; tell whether none is left."""
        for level in self.left:
            if broke := broken_by(level, rows, expected):
                self._drop(level, broke, 1 + max(row["pair"] for row in rows if row["condition"] == level))
        return not self.left

    def _rounds(self, series: Series) -> Iterator[Piece]:
        """Give each round as one piece, and look when it is due."""
        coin = random.Random(f"{self.case.limits.seed}:{self.arguments.mitigation}:{self.arguments.parameter}")
        done = {(row["pair"], row["condition"]) for row in series.rows}
        due = looks(self.arguments.rounds)
        for number in range(self.arguments.rounds):
            if not self.left:
                return
            order = coin.sample([BASELINE, *self.changes], 1 + len(self.changes))
            running = [condition for condition in order if condition not in self.dropped]
            left = tuple(Turn(one, number) for one in running if (number, one) not in done)
            if not series.fits(len(left)):
                return
            if left:
                yield left
            if number + 1 in due:
                yield BARRIER
                self.look(series.rows, number + 1)
                if len(self.left) == 1 and number + 1 < self.arguments.rounds and not self._even(series.rows):
                    return

    def look(self, rows: Sequence[Row], rounds: int) -> None:
        """Drop what is clearly worse than the best so far, the baseline among them."""
        table = tabled([row for row in rows if row["pair"] < rounds])
        for level, better in eliminated(table, (BASELINE, *self.left), self.rule).items():
            if level != BASELINE:
                what = "the baseline" if better == BASELINE else f"{self.arguments.parameter}={better}"
                self._drop(level, f"clearly worse than {what} after {rounds} rounds", rounds)

    def _even(self, rows: Sequence[Row]) -> bool:
        """Tell whether the last level is not yet plainly better than the baseline."""
        return not self.rule.worse(self.rule.claim(tabled(rows), BASELINE, self.left[0]))

    def _applied(self, mitigation: Mitigation) -> AbstractContextManager[Change]:
        return self.case.measuring.change(mitigation, self.case.machine, self.case.plan.file)

    def _drop(self, level: str, why: str, rounds: int) -> None:
        self.dropped[level] = why
        self.left_at[level] = rounds


def tabled(rows: Sequence[Row]) -> RunTable:
    """Read rows as a table of outcomes, those of many hosts on one level."""
    return outcomes_of(on_one_level(rows), "the rounds so far")


def _result(race: Race, series: Series) -> ScreenResult:
    arguments, rule = race.arguments, race.rule
    table = tabled(series.rows)
    rounds = 1 + max((row["pair"] for row in series.rows), default=-1)
    levels = tuple(_level(level, race, table, rounds) for level in arguments.levels)
    base = rule.badness(table, BASELINE)
    best = min(race.left, key=lambda level: rule.badness(table, level), default=None)
    if best is not None and not rule.badness(table, best) < base:
        best = None
    return ScreenResult(
        mitigation=arguments.mitigation,
        parameter=arguments.parameter,
        minimise=arguments.minimise,
        rounds=rounds,
        failed=sum(row["ok"] == 0 for row in series.rows),
        spent_s=series.spent_s,
        baseline=Level(level=BASELINE, summary=_summary(table, BASELINE), rounds=rounds),
        levels=levels,
        alpha_each=rule.alpha,
        best=best,
        summary=_words(race, rounds, best),
    )


def _level(level: str, race: Race, table: RunTable, rounds: int) -> Level:
    return Level(
        level=level,
        summary=_summary(table, level),
        claim=race.rule.claim(table, level, BASELINE, race.case.limits.alpha),
        rounds=race.left_at.get(level, rounds),
        dropped=race.dropped.get(level, ""),
        command=command_line(race.changes[level], race.case.subject, race.case.machine),
    )


def _summary(table: RunTable, condition: str) -> ArmSummary | None:
    outcomes = table.outcome(condition)
    return summarise(outcomes) if outcomes.size else None


def _words(race: Race, rounds: int, best: str | None) -> str:
    name = race.arguments.parameter
    kept = f"{name}={best} has the least {race.arguments.minimise.replace('sd', 'spread')} and goes on to a batch"
    left = kept if best is not None else "no level has less than the baseline"
    return f"{len(race.changes)} levels of {name} in {rounds} rounds, {len(race.dropped)} dropped: {left}."
