"""Who answers beside the rule policy: each is what its name says, on cases whose truth was made."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.graph import MOST_ERRORS
from vgo_agent.agent.legal import legal
from vgo_agent.agent.planners.base import Choice, Rules, View
from vgo_agent.evals.contest.contestants import CONTESTANTS, LAST, Constant, Greedy, Oracle, RandomLegal, factory_of
from vgo_agent.evals.contest.effect import measured_ratio
from vgo_agent.evals.contest.loop import PlannerContestant
from vgo_agent.evals.contest.paper import Paper, in_turn, weigh
from vgo_agent.evals.recorded.folders import CASES, RECORDING, TABLE, TRUTH
from vgo_agent.evals.recorded.gate import admitted
from vgo_agent.evals.recorded.recorded_case import USUAL, RecordedCase, read_case
from vgo_agent.evals.recorded.schema import Truth
from vgo_agent.evals.recorded.truth import read_truth
from vgo_agent.evals.scores.score import scored
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.ranking import RankResult
from vgo_agent.tools.record import Outcome
from vgo_agent.tools.registry import TOOLS
from vgo_agent.tools.steps.rank_factors import RankFactorsTool

from ..tiny_gguf import tiny
from .cases_made import HELPS, MITIGATIONS, TRUTHS, Kind, made_case
from .simulated import Keeping

SEEDS = range(50)
FIRST_LISTED = "glibc_malloc_thresholds"
KNOWN = load()
CAUSES = ("page_faults", "cpu_migrations", "io_wait")
Cases = Mapping[Kind, RecordedCase]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    folder = tmp_path_factory.mktemp("cases")
    return {kind: read_case(made_case(folder, kind)) for kind in TRUTHS}


@pytest.fixture(scope="module")
def views(cases: Cases) -> list[View]:
    """All that the rule policy sees in one diagnosis, from nothing measured to a confirmed mitigation."""
    watched = Keeping(seed=1, share=0.0)
    answer = PlannerContestant("rules", lambda _: watched).answer(cases["faults"].shown, 1)
    assert answer.verdict == "cause explained, remedy confirmed"
    return watched.seen


class Untouchable:
    """A case of which nothing may be asked."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"it looked at {name}")


def caused_by(*causes: str) -> Truth:
    return Truth(verdicts=("remedy confirmed",), causes=causes, why="made")


@pytest.mark.parametrize("sizes", [{}, {"runs": 40}, {"runs": 60, "pairs": 20}, {"runs": 100, "helps": ""}], ids=str)
@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.cells(4)
def test_made_cases_pass_the_gates(kind: Kind, sizes: Mapping[str, Any], tmp_path: Path) -> None:
    assert admitted(made_case(tmp_path, kind, **sizes)).file.key == f"made-{kind}"


# what a mitigation really does


def test_the_measured_ratio_is_that_of_all_recorded_pairs(cases: Cases) -> None:
    found = {key: measured_ratio(cases["faults"], key) for key in MITIGATIONS}
    ratios = {key: one.sd for key, one in found.items() if one and one.sd and one.pairs == 200}
    assert ratios.keys() == set(MITIGATIONS)
    assert ratios[HELPS] < 0.2
    assert all(0.8 < ratios[key] < 1.25 for key in MITIGATIONS if key != HELPS)


def test_a_ratio_is_worked_out_once(cases: Cases) -> None:
    found = measured_ratio(cases["faults"], HELPS)
    assert found is not None
    assert measured_ratio(cases["faults"], HELPS) is found


def test_a_pair_of_which_one_run_failed_does_not_count(tmp_path: Path) -> None:
    folder = made_case(tmp_path, runs=40, pairs=60)
    table = pl.read_parquet(folder / TABLE)
    failed = (pl.col("trial") == HELPS) & (pl.col("pair") == 3) & (pl.col("condition") == HELPS)
    broken = table.with_columns(
        ok=pl.when(failed).then(0).otherwise("ok"), outcome=pl.when(failed).then(99.0).otherwise("outcome")
    )
    broken.write_parquet(folder / TABLE)
    with_failure = measured_ratio(read_case(folder), HELPS)
    table.filter(~((pl.col("trial") == HELPS) & (pl.col("pair") == 3)).fill_null(False)).write_parquet(folder / TABLE)
    assert with_failure is not None and with_failure.pairs == 59
    assert with_failure == measured_ratio(read_case(folder), HELPS)


def test_what_was_not_recorded_has_no_ratio(cases: Cases) -> None:
    assert measured_ratio(cases["faults"], "jemalloc") is None


# constant


def test_constant_never_looks_at_the_case() -> None:
    constant = Constant.of([caused_by("page_faults")])
    answers = {constant.answer(Untouchable(), seed) for seed in SEEDS}  # type: ignore[arg-type]
    assert [answer.causes for answer in answers] == [("page_faults",)]


def test_constant_claims_the_most_common_cause_and_its_first_mitigation(cases: Cases) -> None:
    constant = Constant.of([caused_by("io_wait"), caused_by("page_faults", "io_wait"), caused_by("page_faults")])
    answer = constant.answer(cases["steady"].shown, 1)
    assert (answer.verdict, answer.causes, answer.runs) == ("cause explained, remedy confirmed", ("io_wait",), 0)
    assert answer.ranked == ("io_wait", "page_faults")
    listed = [key for key in KNOWN.factors["io_wait"].mitigations if KNOWN.mitigations[key].apply]
    assert answer.mitigation == listed[0]


@given(st.lists(st.sampled_from(CAUSES), min_size=1), st.randoms())
def test_constant_depends_neither_on_the_order_nor_on_the_number_of_cases(causes, chance) -> None:
    train = [caused_by(cause) for cause in causes]
    shuffled = chance.sample(train * 2, 2 * len(train))
    assert Constant.of(train, KNOWN) == Constant.of(shuffled, KNOWN)


def test_without_a_cause_to_learn_from_there_is_no_constant() -> None:
    with pytest.raises(VgoError, match="No train case has a cause"):
        Constant.of([Truth(verdicts=("steady",), control=True, why="made")])


def test_constant_learns_from_the_train_split_only(tmp_path: Path) -> None:
    held_out = read_case(made_case(tmp_path, split="held-out", runs=20, pairs=20))
    with pytest.raises(VgoError, match="No train case"):
        CONTESTANTS["constant"]([held_out])


# oracle


def test_the_oracle_is_right(cases: Cases) -> None:
    for case in cases.values():
        truth, answer = read_truth(case.folder), Oracle([case]).answer(case.shown, 1)
        assert answer.verdict in truth.verdicts
        assert (answer.causes, answer.ranked) == (truth.causes, truth.causes)
        assert answer.mitigation in (truth.accepted or ("",))


def test_of_accepted_mitigations_the_oracle_takes_the_one_with_the_least_ratio(tmp_path: Path) -> None:
    folder = made_case(tmp_path, runs=20, pairs=40)
    accepted = "accepted: [pin_to_cpu, glibc_malloc_thresholds, jemalloc, glibc_hugetlb]\n"
    (folder / TRUTH).write_text("verdicts: [remedy confirmed]\ncauses: [page_faults]\nwhy: made\n" + accepted)
    case = read_case(folder)
    assert Oracle([case]).answer(case.shown, 1).mitigation == HELPS


# random-legal


def test_random_legal_never_makes_an_illegal_call(views: list[View]) -> None:
    assert {"measure", "profile", "label", "look_up", "apply_mitigation", "compare"} <= {
        tool for view in views for tool in view.legal.tools
    }
    for view in views:
        for seed in SEEDS:
            choice = RandomLegal(seed).choose(replace(view, decisions=0))
            legal(view.record, view.limits).check(choice.tool, choice.arguments)
            TOOLS[choice.tool].arguments.model_validate(choice.arguments)


def test_random_legal_draws_every_legal_tool(views: list[View]) -> None:
    for view in views:
        drawn = {RandomLegal(seed).choose(replace(view, decisions=1)).tool for seed in range(300)}
        assert drawn | {"conclude"} == set(view.legal.tools)


def test_random_legal_has_no_state_and_ends(views: list[View]) -> None:
    for view in views:
        for seed in SEEDS:
            assert RandomLegal(seed).choose(view) == RandomLegal(seed).choose(view)
            assert RandomLegal(seed).choose(replace(view, decisions=LAST)).tool == "conclude"


def test_random_legal_concludes_more_and_more_often(views: list[View]) -> None:
    def ends(decisions: int) -> int:
        view = replace(views[0], decisions=decisions)
        return sum(RandomLegal(seed).choose(view).tool == "conclude" for seed in range(200))

    assert ends(0) == 0 < ends(LAST // 4) < ends(LAST // 2) < ends(LAST) == 200


def test_a_diagnosis_by_chance_reaches_a_verdict_without_an_illegal_call(cases: Cases) -> None:
    contestant = CONTESTANTS["random-legal"](list(cases.values()))
    answer = contestant.answer(cases["faults"].shown, 3)
    assert answer.verdict
    assert answer.illegal == 0
    assert answer == contestant.answer(cases["faults"].shown, 3)


# planners in the loop


class Lawless:
    """A planner that never makes a legal call."""

    name = "lawless"

    def choose(self, view: View) -> Choice:
        return Choice("fit_tree" if "fit_tree" not in view.legal.tools else "measure", {"depth": -1}, "it may not")


@pytest.mark.slow
def test_a_planner_that_never_makes_a_legal_call_is_right_only_by_the_rule_policy(cases: Cases) -> None:
    answer = PlannerContestant("lawless", lambda _: Lawless()).answer(cases["faults"].shown, 1)
    found = scored(answer, read_truth(cases["faults"].folder), cases["faults"])
    assert (answer.verdict, found["verdict"].value, found["alone"].value) == (
        "cause explained, remedy confirmed",
        1.0,
        0.0,
    )
    assert answer.fallbacks and answer.calls == answer.fallbacks + answer.illegal


@pytest.mark.slow
def test_mitigations_that_were_not_recorded_are_no_mistakes_of_the_planner() -> None:
    case = USUAL.to(read_case(CASES / "cold-and-contended"))
    answer = CONTESTANTS["rules"]([case]).answer(case.shown, 1)
    assert len(answer.not_recorded) >= MOST_ERRORS
    assert answer.fallbacks == 0


def test_the_cause_scored_first_is_the_one_that_the_user_is_told(cases: Cases, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict names the suspect that fell with the mitigation, which need not be the first one ranked."""
    ranked: list[str] = []
    ranking = RankFactorsTool().run

    def turned(arguments: Any, case: Any) -> Any:
        outcome = ranking(arguments, case)
        found = RankResult.model_validate(outcome.result.model_dump())
        first, *others = found.factors
        other = next(one for one in others if one.factor and one.factor != first.factor)
        factors = (other.model_copy(update={"visible": True, "contrary": False}), first)
        ranked.extend(one.factor for one in factors)
        return Outcome(found.model_copy(update={"factors": factors}), outcome.artefacts)

    monkeypatch.setattr(RankFactorsTool, "run", staticmethod(turned))
    answer = PlannerContestant("rules", lambda _: Rules()).answer(cases["faults"].shown, 1)
    assert ranked[1] == "page_faults" != ranked[0]
    assert answer.causes == ("page_faults", ranked[0])
    assert answer.ranked == tuple(ranked)


# greedy


def test_greedy_tries_the_first_mitigation_and_no_other(cases: Cases) -> None:
    answer = PlannerContestant("greedy", lambda _: Greedy()).answer(cases["faults"].shown, 1)
    assert answer.causes[0] == "page_faults"
    assert answer.tried == (FIRST_LISTED,)
    assert (answer.verdict, answer.mitigation) == ("cause explained, remedy undecided", "")


def test_greedy_confirms_what_looked_steadier(tmp_path: Path) -> None:
    case = read_case(made_case(tmp_path, helps=FIRST_LISTED))
    answer = PlannerContestant("greedy", lambda _: Greedy()).answer(case.shown, 1)
    assert (answer.verdict, answer.mitigation, answer.illegal) == ("cause explained, remedy confirmed", FIRST_LISTED, 0)


def test_greedy_makes_no_call_twice(views: list[View]) -> None:
    for view in views:
        choice = Greedy().choose(view)
        view.legal.check(choice.tool, choice.arguments)
        if choice.tool not in ("apply_mitigation", "compare"):
            assert choice.tool not in {call.tool for call in view.record.calls}


# paper


@pytest.mark.parametrize("consequences", [False, True])
@pytest.mark.parametrize("kind", ["faults", "noise"])
def test_the_paper_names_the_column_with_the_greatest_importance(
    cases: Cases, kind: Kind, consequences: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watched(*given, **chosen):
        seen.append(weigh(*given, **chosen))
        return seen[-1]

    monkeypatch.setattr("vgo_agent.evals.contest.paper.weigh", watched)
    answer = Paper(consequences=consequences).answer(cases[kind].shown, 1)
    (weights,) = seen
    top = max(weights, key=lambda weight: weight.importance).column
    factor = KNOWN.factor_of(top)
    assert answer.causes == (factor.key if factor else top,)
    assert sum(weight.importance for weight in weights) == pytest.approx(1)


def test_the_paper_leaves_out_what_merely_follows_unless_told(cases: Cases) -> None:
    profile = [row for row in cases["noise"].shown.rows("profile") if row.get("layers")]
    sifted, raw = (
        {weight.column for weight in weigh(cases["noise"].shown, profile, 1, consequences=all_columns)}
        for all_columns in (False, True)
    )
    followers = {"user_s", "system_s", "stat.intr"}
    assert followers & raw
    assert not followers & sifted


def test_the_paper_takes_columns_that_lack_a_cell_here_and_there(tmp_path: Path) -> None:
    folder = made_case(tmp_path, runs=60, pairs=20)
    sparse = pl.when(pl.col("order") % 7 > 0).then("minor_faults").alias("minor_faults")
    pl.read_parquet(folder / TABLE).with_columns(sparse).write_parquet(folder / TABLE)
    assert Paper().answer(read_case(folder).shown, 1).causes == ("page_faults",)


def test_the_paper_finds_a_cause_in_noise(cases: Cases) -> None:
    for seed in range(5):
        answer = Paper().answer(cases["noise"].shown, seed)
        assert answer.verdict.startswith("cause explained, remedy ")
        assert answer.causes


def test_the_paper_tries_the_first_listed_mitigation(cases: Cases, tmp_path: Path) -> None:
    failing = Paper().answer(cases["faults"].shown, 1)
    helped = Paper().answer(read_case(made_case(tmp_path, helps=FIRST_LISTED)).shown, 1)
    assert failing.tried == helped.tried == (FIRST_LISTED,)
    assert helped.verdict == "cause explained, remedy confirmed"
    assert (helped.causes, helped.mitigation) == (("page_faults",), FIRST_LISTED)


def test_a_cause_of_which_no_mitigation_was_recorded_is_told_apart(tmp_path: Path) -> None:
    folder = made_case(tmp_path, runs=60, pairs=20)
    recording = json.loads((folder / RECORDING).read_text())
    (folder / RECORDING).write_text(json.dumps(recording | {"trials": {}}))
    answer = Paper().answer(read_case(folder).shown, 1)
    assert (answer.verdict, answer.causes) == ("cause explained, remedy not tried", ("page_faults",))
    assert len(answer.not_recorded) == 1
    assert FIRST_LISTED in answer.not_recorded[0]


def test_the_paper_claims_whatever_made_the_spread_fall(cases: Cases) -> None:
    for seed in range(10):
        answer = Paper().answer(cases["faults"].shown, seed)
        before, after = (
            np.std([row["outcome"] for row in arm]) for arm in in_turn(cases["faults"].shown, FIRST_LISTED, seed)
        )
        assert (answer.verdict == "cause explained, remedy confirmed") == bool(answer.mitigation) == (after < before)


def test_the_paper_measures_one_series_after_the_other(cases: Cases) -> None:
    before, after = in_turn(cases["faults"].shown, HELPS, 1)
    assert {row["condition"] for row in before} == {"baseline"}
    assert {row["condition"] for row in after} == {HELPS}
    assert max(row["order"] for row in before) < min(row["order"] for row in after)


def test_a_seed_reproduces_the_answer_and_another_draws_other_runs(cases: Cases) -> None:
    answers = [Paper().answer(cases["faults"].shown, seed) for seed in (1, 1, 2)]
    assert answers[0] == answers[1]
    assert answers[0].program_s != answers[2].program_s


def test_a_tree_without_a_question_is_no_verdict(tmp_path: Path) -> None:
    folder = made_case(tmp_path, "steady", runs=20, pairs=20)
    pl.read_parquet(folder / TABLE).with_columns(outcome=pl.lit(0.02)).write_parquet(folder / TABLE)
    answer = Paper().answer(read_case(folder).shown, 1)
    assert (answer.verdict, answer.ended) == ("", "The tree found no column to split by.")


# all of them


def test_everybody_answers_by_the_name_in_the_table(cases: Cases) -> None:
    assert {"rules", "random-legal", "greedy", "constant", "paper", "oracle"} <= set(CONTESTANTS)
    for name, factory in CONTESTANTS.items():
        assert factory(list(cases.values())).name == name


def test_a_model_of_the_users_is_a_contestant(cases: Cases, tmp_path: Path) -> None:
    name = f"llama:{tiny(tmp_path / 'mine.gguf', context=16384)}"
    contestant = factory_of(name, CONTESTANTS)(list(cases.values()))
    assert contestant.name == name
    answer = contestant.answer(next(iter(cases.values())).shown, 1)
    assert answer.verdict and not answer.illegal
    with pytest.raises(VgoError, match="There is no model"):
        factory_of(f"llama:{tmp_path}/none.gguf", CONTESTANTS)([])
    with pytest.raises(VgoError, match="llama:MODEL"):
        factory_of("lama", CONTESTANTS)
