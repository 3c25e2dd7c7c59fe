"""What scores come to: rates with intervals, medians, duels, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.evals.recorded.gate import UnsoundCase
from vgo_agent.evals.scores.difference import difference
from vgo_agent.evals.scores.effects import Score
from vgo_agent.evals.scores.evaluate import missed
from vgo_agent.evals.scores.page import markdown
from vgo_agent.evals.scores.results import CaseDescription, Results, ScoredAnswer
from vgo_agent.evals.scores.summary import (
    cases_by,
    duel,
    fewest_without,
    geometric_mean,
    mcnemar,
    resampled,
    summarise,
    wilson,
)
from vgo_agent.evals.scores.tables import (
    brief,
    by_group,
    difference_lines,
    failure_lines,
    grid,
    notes,
    overview,
    turned,
)

Marks = Mapping[str, Sequence[float | None]]
"""By case, one value a seed."""


def row(contestant: str, case: str, seed: int, **values: float | None) -> ScoredAnswer:
    scores = {name.replace("_at_", "@"): Score(value=value, reason=f"{name} here") for name, value in values.items()}
    answer = ContestAnswer(verdict="cause explained, remedy confirmed")
    return ScoredAnswer(contestant=contestant, case=case, seed=seed, answer=answer, scores=scores, seconds=1.0)


def results(score: str = "verdict", broken: tuple[UnsoundCase, ...] = (), **marks: Marks) -> Results:
    """One keyword a contestant."""
    cases = sorted({case for of in marks.values() for case in of})
    seeds = max(len(values) for of in marks.values() for values in of.values())
    return Results(
        made="2026-01-01T00:00:00+00:00",
        command="vgo-agent eval",
        version="0",
        commit="",
        knowledge="",
        seeds=tuple(range(1, seeds + 1)),
        contestants=tuple(marks),
        cases=tuple(
            CaseDescription(
                key=case,
                title=case,
                split="held-out" if case.startswith("h") else "train",
                tags=("made", case[0]),
                difficulty=1,
                manifest=f"hash of {case}",
            )
            for case in cases
        ),
        broken=broken,
        rows=tuple(
            row(name, case, seed, **{score: value})
            for name, of in marks.items()
            for case, values in of.items()
            for seed, value in enumerate(values, 1)
        ),
    )


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy_and_holds_the_share(counts: tuple[int, int]) -> None:
    hits, n = counts
    low, high = wilson(hits / n, n)
    known = binomtest(hits, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((known.low, known.high), abs=1e-9)
    assert 0 <= low <= hits / n <= high <= 1


@given(st.floats(0, 1), st.integers(1, 60))
def test_wilson_holds_shares_that_are_no_whole_number_too(share: float, n: int) -> None:
    low, high = wilson(share, n)
    assert 0 <= low <= share <= high <= 1


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        wilson(0.5, 0)


def test_the_geometric_mean_of_ratios_and_of_their_inverses() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([0.0, 2.0]) == 0.0


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_does_not_care_who_is_first(first: int, second: int) -> None:
    assert mcnemar(first, second) == pytest.approx(mcnemar(second, first))


def test_mcnemar_by_hand() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 5) == pytest.approx(2 / 2**5)


def test_a_case_counts_once_however_many_seeds_it_has() -> None:
    found = summarise(results(rules={"a": (1, 1, 1), "b": (1, 0, 0)}), "rules").scores["verdict"]
    low, high = wilson(2 / 3, 2)
    assert found.n == 2
    assert (found.value, found.low, found.high) == pytest.approx((2 / 3, low, high))


def test_what_does_not_apply_counts_nowhere() -> None:
    found = summarise(results("false_alarm", rules={"a": (None, None), "b": (1, 0)}), "rules").scores
    assert (found["false_alarm"].n, found["false_alarm"].value) == (1, 0.5)
    assert "verdict" not in found


def test_ratios_are_averaged_by_their_logarithms_and_regret_by_its_median() -> None:
    ratios = summarise(results("sd_ratio", rules={"a": (0.5, 2.0), "b": (0.25, 0.25)}), "rules").scores["sd_ratio"]
    assert ratios.value == pytest.approx(0.5)
    assert (ratios.low, ratios.high) == pytest.approx((0.25, 1.0))
    regrets = summarise(results("regret", rules={"a": (1.0,), "b": (9.0,), "c": (1.1,)}), "rules").scores["regret"]
    assert regrets.value == 1.1


def test_stable_and_flaky_cases_are_told_apart() -> None:
    found = summarise(results(rules={"a": (1, 1), "b": (1, 0), "c": (0, 0), "d": (None, None)}), "rules")
    assert found.steadiness == {"a": "right", "b": "flaky", "c": "wrong", "d": "not judged"}


def test_a_duel_looks_at_cases_by_their_majority_and_a_tie_is_not_right() -> None:
    made = results(rules={"a": (1, 1), "b": (1, 0), "c": (1, 1)}, paper={"a": (0, 0), "b": (0, 0), "c": (1, 1)})
    found = duel(made, "rules", "paper")
    assert (found.cases, found.only_first, found.only_second, found.p_value) == (3, ("a",), (), 1.0)


def test_a_duel_leaves_out_what_one_of_the_two_was_not_judged_on() -> None:
    made = results(rules={"a": (1, None), "b": (1, 1)}, paper={"a": (0, 0), "b": (None, None)})
    assert duel(made, "rules", "paper").cases == 1


def test_groups_by_tag_and_split() -> None:
    made = results(rules={"h1": (1,), "t1": (0,)})
    assert cases_by(made, "tag") == {"h": {"h1"}, "made": {"h1", "t1"}, "t": {"t1"}}
    assert cases_by(made, "split") == {"train": {"t1"}, "held-out": {"h1"}}


marks = st.dictionaries(st.sampled_from("abcdef"), st.tuples(*[st.sampled_from((0.0, 1.0, None))] * 3), min_size=1)


@given(marks, marks)
def test_a_result_is_not_different_from_itself(rules: Marks, paper: Marks) -> None:
    made = results(rules=rules, paper=paper)
    assert difference(made, made).empty
    assert Results.model_validate_json(made.model_dump_json()) == made


@given(marks)
def test_the_difference_turned_round_is_the_other_way_round(rules: Marks) -> None:
    old = results(rules=rules)
    new = results(rules={case: (1.0, 1.0, 1.0) for case in rules})
    there, back = difference(old, new), difference(new, old)
    assert [(one.case, one.old, one.new) for one in there.changed] == [
        (one.case, one.new, one.old) for one in back.changed
    ]
    assert [test.p_value for test in there.tests] == [test.p_value for test in back.tests]


def test_a_difference_names_the_cases_the_data_and_the_direction() -> None:
    old = results(rules={"a": (0, 0), "b": (1, 1), "gone": (1, 1)})
    new = results(rules={"a": (1, 1), "b": (1, 1), "fresh": (0, 0)})
    moved = new.cases[0].model_copy(update={"manifest": "another"})
    found = difference(old, new.model_copy(update={"cases": (moved, *new.cases[1:])}))
    assert (found.only_old, found.only_new, found.other_data) == (("gone",), ("fresh",), ("a",))
    assert [(one.case, one.old, one.new) for one in found.changed] == [("a", 0.0, 1.0)]
    assert [(one.score, one.old, one.new, one.better) for one in found.deltas] == [("verdict", 0.5, 1.0, True)]
    assert [test.only_second for test in found.tests] == [("a",)]


def test_who_takes_part_in_one_of_two_evaluations_only_is_told() -> None:
    found = difference(results(rules={"a": (1,)}, paper={"a": (1,)}), results(rules={"a": (1,)}, greedy={"a": (0,)}))
    assert (found.gone, found.joined, found.empty) == (("paper",), ("greedy",), False)
    assert difference_lines(found) == ["Planners only before: paper", "New planners: greedy"]


def test_the_gate_names_what_is_missed_and_the_cases() -> None:
    sentences = list(missed(results(rules={"a": (1, 1), "b": (1, 0), "h": (1, 1)}), "rules"))
    assert sentences[-1] == "rules, train: verdict right: 75 % of 2 cases, at least 90 % is required; see b."
    assert any("false alarms" in sentence and "choose more cases" in sentence for sentence in sentences)


def test_many_good_cases_of_one_split_hide_no_bad_one_of_the_other() -> None:
    good = {f"a{place}": (1, 1) for place in range(20)}
    said = [sentence for sentence in missed(results(rules={**good, "h": (0, 0)}), "rules") if "verdict" in sentence]
    assert said == ["rules, held-out: verdict right: 0 % of 1 cases, at least 90 % is required; see h."]


def test_the_gate_passes_what_reaches_every_number() -> None:
    good = {"verdict": 1.0, "cause_at_1": 1.0, "false_alarm": 0.0, "regret": 1.1, "untold_cost": 0.0}
    made = results(rules={"a": (1,)}).model_copy(update={"rows": (row("rules", "a", 1, **good),)})
    assert list(missed(made, "rules")) == []
    broken = made.model_copy(update={"broken": (UnsoundCase(key="z", reason="Its table is torn."),)})
    assert list(missed(broken, "rules")) == ["The case z is not sound: Its table is torn."]


def test_the_tables_have_a_row_for_everyone() -> None:
    made = results(
        broken=(UnsoundCase(key="z", reason="Its table is torn."),),
        rules={"a": (1, 1), "b": (0, 1)},
        paper={"a": (0, 0), "b": (0, 0)},
    ).model_copy(update={"missing": {"llama": "no model"}})
    shown = overview(made)
    assert [line[0] for line in shown.rows] == ["rules", "paper", "llama"]
    assert shown.rows[2][1] == "no model"
    assert all(len(line) == len(shown.header) for line in shown.rows)
    assert [line[-2:] for line in grid(made).rows] == [
        ("right", "wrong"),
        ("flaky", "wrong"),
        ("not asked", "not asked"),
    ]
    assert turned(turned(shown)) == shown
    assert turned(shown).header == ("planner", "rules", "paper", "llama")
    assert failure_lines(made, ["rules"]) == [
        "z: not asked. Its table is torn.",
        "rules, b (seed 1): verdict: verdict here",
    ]


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30), st.floats(0.5, 2))
def test_the_bootstrap_holds_its_bounds_and_follows_the_unit(values: list[float], unit: float) -> None:
    low, high = resampled(tuple(values), median)
    assert min(values) <= low <= high <= max(values)
    assert resampled(tuple(unit * value for value in values), median) == pytest.approx((unit * low, unit * high))
    assert low <= median(values) <= high


def test_controls_without_an_alarm_show_a_bound_only_where_they_are_many() -> None:
    assert fewest_without(0.05) == 73
    assert wilson(0, 73)[1] <= 0.05 < wilson(0, 72)[1]
    few, many = (results("false_alarm", rules={f"c{at}": (0.0,) for at in range(n)}) for n in (9, 73))
    assert any("0 of 9 controls cannot show “at most 5 %”, since up to 30 % go" in line for line in notes(few))
    assert not any("controls" in line for line in notes(many))


def test_a_score_over_fewer_cases_than_anothers_says_so() -> None:
    made = results("regret", rules={"a": (1.0,), "b": (2.0,)}, paper={"a": (1.5,), "b": (None,)})
    upright = overview(made)
    column = upright.header.index("regret")
    assert [line[column] for line in upright.rows] == ["1.5 [1, 2]", "1.5 [1.5, 1.5] (n 1)"]
    assert "Regret and ratios are over the 2 cases in which a mitigation is known to help." in notes(made)
    assert [line[:2] for line in by_group(made, "difficulty", "regret").rows] == [("1", "2")]


def test_seconds_are_shown_and_are_no_difference() -> None:
    made = results(rules={"a": (1,), "b": (1,)})
    slower = made.model_copy(update={"rows": tuple(row.model_copy(update={"seconds": 9.0}) for row in made.rows)})
    assert summarise(slower, "rules").scores["seconds"].value == 9.0
    assert "agent s" in overview(made).header
    assert difference(made, slower).empty


def test_the_markdown_tells_the_difference_and_the_failures() -> None:
    old, new = results(rules={"a": (1,), "b": (1,)}), results(rules={"a": (1,), "b": (0,)}, paper={"a": (0,)})
    said = markdown(new.model_copy(update={"knowledge": "ab12"}), difference(old, new))
    assert "## Against the results before\n\n- New planners: paper\n- rules, b: verdict 1 -\\> 0\n" in said
    assert "## What failed and why (of rules)\n\n### 1 finding\n\n- rules, b: verdict: verdict here\n" in said
    assert "Made by `vgo-agent eval` on" in said and "digest of the knowledge: `ab12`" in said
    assert "Against the results before" not in markdown(new)


@pytest.mark.parametrize("fallbacks", [0.0, 5.0])
def test_what_was_reached_alone_is_shown_where_somebody_was_helped(fallbacks: float) -> None:
    scores = {"verdict": 1.0, "alone": float(not fallbacks), "cause_at_1": 1.0}
    helped = row("rules", "a", 1, **scores, fallbacks=fallbacks)
    made = results(rules={"a": (1,)}).model_copy(update={"rows": (helped,)})
    assert ("alone" in overview(made).header) == ("alone" in brief(made, 100)) == bool(fallbacks)


@given(st.integers(20, 200))
def test_the_table_of_a_terminal_has_all_that_fits(width: int) -> None:
    every = {"verdict": 1.0, "cause_at_1": 1.0, "regret": 1.0, "runs": 400.0, "calls": 11.0, "strict": 1.0}
    made = results(rules={"a": (1,)}).model_copy(update={"rows": (row("rules", "a", 1, **every),)})
    header, line, *left = brief(made, width).split("\n")
    full = brief(made, 1000).split("\n")[0]
    assert header.startswith("planner  verdict") and "cause@1" in header
    assert full.startswith(header.split("  flaky")[0])
    if header != full:
        fewer = len(full.split()) - len(header.split())
        assert fewer > 0 and len(left) == 1
        assert f"for: {', '.join(full.split()[-fewer - 1 : -1])} (" in left[0]
    if "regret" in header:
        assert max(len(header), len(line)) <= width
