"""The tables of an evaluation as words, for the terminal, for Markdown and for the page alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...agent.report.numbers import ABSENT, number, ratio
from ...agent.terminal import table
from .difference import Difference
from .evaluate import REQUIRED, Required, bound_of, bound_words, reached
from .results import Results, ScoredAnswer
from .score import COLUMNS, KINDS
from .summary import (
    ContestantSummary,
    Duel,
    Grouping,
    Summed,
    by_case,
    cases_by,
    duel,
    fewest_without,
    steadiness,
    summarise,
    wilson,
)

BRIEF = (
    *("verdict", "cause@1", "false_alarm", "regret", "injected@1", "alone"),
    *("sd_ratio", "mitigation", "runs", "strict", "harm", "calls"),
)
"""Those for a terminal, as many from the front as it is wide; those that something is required of come first."""
FAILURES = ("verdict", "alone", "cause@1", "false_alarm", "mitigation", "harm", "untold_cost", "evidence")
"""Shares whose every miss is told; a regret is told above what is required of the median."""


class TextTable(NamedTuple):
    """A header and rows of as many cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def overview(
    results: Results, scores: Sequence[str] = tuple(COLUMNS), cases: Collection[str] | None = None
) -> TextTable:
    """Give one row a contestant; scores that apply to nobody are left out."""
    found = [summarise(results, name, cases) for name in results.contestants]
    shown = _telling(found, scores)
    most = {score: _most([summary.scores.get(score) for summary in found]) for score in shown}
    body = [_row(summary, most) for summary in found]
    blanks = ("",) * len(shown)
    body += [(name, why, *blanks) for name, why in results.missing.items()]
    return TextTable(("planner", *(COLUMNS[score] for score in shown), "flaky"), tuple(body))


def _telling(found: Sequence[ContestantSummary], scores: Sequence[str]) -> list[str]:
    """Leave out what applies to nobody, and `alone` where the rule policy took no decision in anybody's place."""
    shown = [score for score in scores if any(score in summary.scores for summary in found)]
    helped = any("fallbacks" in summary.scores and summary.scores["fallbacks"].value > 0 for summary in found)
    return shown if helped else [score for score in shown if score != "alone"]


def brief(results: Results, width: int) -> str:
    """Lay out one row a contestant with as many scores as fit into the width, two at least; say what did not fit."""
    whole = scores = _telling([summarise(results, name) for name in results.contestants], BRIEF)
    laid = table(*overview(results, scores))
    while len(scores) > 2 and max(map(len, laid.split("\n"))) > width:
        laid = table(*overview(results, scores := scores[:-1]))
    left = ", ".join(COLUMNS[score] for score in whole[len(scores) :])
    return f"{laid}\nNo room here for: {left} (--markdown and --html have all)." if left else laid


def turned(upright: TextTable) -> TextTable:
    """Make rows of the columns: many scores of few contestants fit a page so."""
    header, *body = zip(upright.header, *upright.rows, strict=True)
    return TextTable(header, tuple(body))


def _row(summary: ContestantSummary, most: Mapping[str, int]) -> tuple[str, ...]:
    flaky = sum(word == "flaky" for word in summary.steadiness.values())
    cells = (cell(score, summary.scores.get(score), cases) for score, cases in most.items())
    return (summary.contestant, *cells, f"{flaky} of {len(summary.steadiness)}")


def _most(found: Sequence[Summed | None]) -> int:
    """The most cases that a score applies to for one of several contestants."""
    return max((one.n for one in found if one), default=0)


def cell(score: str, found: Summed | None, most: int) -> str:
    """Write one summed score; with its number of cases where another contestant has it over more."""
    if found is None:
        return ABSENT
    fewer = f" (n {found.n})" if found.n < most else ""
    if KINDS[score].way != "rate":
        return ratio(found.value, found.low, found.high) + fewer
    return f"{100 * found.value:.0f} % [{100 * (found.low or 0):.0f}, {100 * (found.high or 0):.0f}]{fewer}"


def notes(results: Results) -> list[str]:
    """Say what some of the scores are over, and what so few cases cannot show."""
    found = [summarise(results, name).scores for name in results.contestants]
    over = {score: _most([scores.get(score) for scores in found]) for score in ("regret", "false_alarm")}
    lines = ["Where a score applies to fewer cases than another contestant's, n says to how many."]
    if gains := over["regret"]:
        cases = f"{gains} {'case' if gains == 1 else 'cases'}"
        lines.append(f"Regret and ratios are over the {cases} in which a mitigation is known to help.")
    bound = bound_of("false_alarm")
    controls, needed = over["false_alarm"], fewest_without(bound)
    if 0 < controls < needed:
        lines.append(
            f"False alarms: 0 of {controls} controls cannot show “at most {100 * bound:g} %”, since up to "
            f"{100 * wilson(0, controls)[1]:.0f} % go with it (95 % interval); that takes {needed} controls."
        )
    return lines


def requirements(results: Results, contestant: str) -> TextTable:
    """Hold a contestant against what the rule policy has to reach, each split apart."""
    splits = {
        split: summarise(results, contestant, cases).scores for split, cases in cases_by(results, "split").items()
    }
    body = []
    for required in REQUIRED:
        found = [scores.get(required.score) for scores in splits.values()]
        if any(found):
            body.append((required.words, bound_words(required), *(_held(required, one) for one in found)))
    return TextTable(("score", "required", *splits), tuple(body))


def _held(required: Required, found: Summed | None) -> str:
    if found is None:
        return ABSENT
    return cell(required.score, found, found.n) + ("" if reached(required, found) else " (missed)")


def by_group(results: Results, grouping: Grouping, score: str) -> TextTable:
    """Give one row a group, one column a contestant."""
    body = []
    for group, cases in cases_by(results, grouping).items():
        found = [summarise(results, name, cases).scores.get(score) for name in results.contestants]
        if most := _most(found):
            body.append((group, str(most), *(cell(score, one, most) for one in found)))
    return TextTable((grouping, "cases", *results.contestants), tuple(body))


def grid(results: Results) -> TextTable:
    """Give one row a case, one column a contestant: whether the verdict is right, and the cause."""
    body = [
        (case.key, case.split, *(_mark(results, name, case.key) for name in results.contestants))
        for case in results.cases
    ]
    body += [(case.key, "not sound", *["not asked" for _ in results.contestants]) for case in results.broken]
    return TextTable(("case", "split", *results.contestants), tuple(body))


def _mark(results: Results, contestant: str, case: str) -> str:
    mine = [row for row in results.rows if row.contestant == contestant and row.case == case]
    verdict = by_case(mine, "verdict").get(case)
    cause = by_case(mine, "cause@1").get(case)
    word = steadiness(verdict)
    return word if cause is None or verdict is None else f"{word}, cause {'right' if cause > 0.5 else 'wrong'}"


def _wrong(row: ScoredAnswer) -> Iterator[tuple[str, str]]:
    if row.unfinished:
        yield "verdict", row.unfinished
        return
    for score in FAILURES:
        one = row.scores.get(score)
        if one is not None and one.value is not None and one.value != KINDS[score].more_is_better:
            yield score, one.reason
    regret, bound = row.scores.get("regret"), bound_of("regret")
    if row.answer.mitigation and regret is not None and regret.value is not None and regret.value > bound:
        yield "regret", f"{row.answer.mitigation} leaves {regret.value:.3g} times the spread. {regret.reason}"


def failure_lines(results: Results, contestants: Collection[str]) -> list[str]:
    """Write what went wrong, once for all seeds for which the reason is the same, and the cases that were not asked."""
    found: dict[tuple[str, str], list[int]] = {}
    for row in results.rows:
        for score, reason in _wrong(row) if row.contestant in contestants else ():
            found.setdefault((f"{row.contestant}, {row.case}", f"{COLUMNS[score]}: {reason}"), []).append(row.seed)
    lines = [f"{case.key}: not asked. {case.reason}" for case in results.broken]
    for (who, what), seeds in found.items():
        of = "" if len(seeds) == len(results.seeds) else f" (seed {', '.join(map(str, seeds))})"
        lines.append(f"{who}{of}: {what}")
    return lines


def duels(results: Results) -> list[Duel]:
    """Compare the first contestant with each other one."""
    first, *others = results.contestants or ("",)
    return [duel(results, first, other) for other in others]


def duel_line(found: Duel) -> str:
    """Say how two compare."""
    return (
        f"{found.score}: only {found.first} is right in {len(found.only_first)} of {found.cases} cases, "
        f"only {found.second} in {len(found.only_second)}: p = {number(found.p_value, 2)} (McNemar's exact test)"
    )


def difference_lines(found: Difference) -> list[str]:
    """Say what is different, a line each."""
    if found.empty:
        return ["Nothing is different."]
    sets = {
        "Planners only before": found.gone,
        "Cases only before": found.only_old,
        "New planners": found.joined,
        "New cases": found.only_new,
        "Cases with other data": found.other_data,
    }
    lines = [f"{words}: {', '.join(names)}" for words, names in sets.items() if names]
    lines += [f"{one.contestant}, {one.case} (seed {one.seed}): {one.old} -> {one.new}" for one in found.answers]
    lines += [
        f"{one.contestant}, {one.case}: {COLUMNS[one.score]} {number(one.old, 3)} -> {number(one.new, 3)}"
        for one in found.changed
    ]
    lines += [
        f"{one.contestant}: {KINDS[one.score].words}: {number(one.old, 3)} -> {number(one.new, 3)}, "
        f"{'better' if one.better else 'worse'}"
        for one in found.deltas
    ]
    return lines + [duel_line(test) for test in found.tests]
