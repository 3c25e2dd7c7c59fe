"""Scores: each with its value and its reason, of answers and truths made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgo_agent.evals.contest.answer import ContestAnswer
from vgo_agent.evals.contest.effect import measured_ratio
from vgo_agent.evals.recorded.recorded_case import RecordedCase, read_case
from vgo_agent.evals.recorded.schema import Truth
from vgo_agent.evals.scores.effects import Score
from vgo_agent.evals.scores.score import KINDS, OF_MADE, scored

from .cases_made import HELPS, MITIGATIONS, made_case

TRUE = Truth(
    verdicts=("remedy confirmed",),
    causes=("page_faults",),
    also_true=("cache_misses",),
    accepted=(HELPS,),
    must_not_help=("pin_to_cpu",),
    why="made",
)
CONTROL = Truth(verdicts=("steady",), control=True, why="made")
FACTORS = ("page_faults", "cache_misses", "context_switches", "interrupts", "io_wait")
FEW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> RecordedCase:
    return read_case(made_case(tmp_path_factory.mktemp("cases"), runs=60, pairs=60))


def claim(*causes: str, **more: object) -> ContestAnswer:
    return ContestAnswer.model_validate(
        {"verdict": "cause explained, remedy confirmed", "causes": causes, "ranked": causes, **more}
    )


def values(answer: ContestAnswer, truth: Truth, case: RecordedCase) -> dict[str, float | None]:
    return {name: score.value for name, score in scored(answer, truth, case).items()}


def test_the_right_answer_gets_every_score(case: RecordedCase) -> None:
    found = values(claim("page_faults", mitigation=HELPS, transcript="f00"), TRUE, case)
    rights = (
        "verdict",
        "alone",
        "cause@1",
        "injected@1",
        "cause@3",
        "mrr",
        "strict",
        "mitigation",
        "evidence",
        "regret",
    )
    assert {name: found[name] for name in rights} == dict.fromkeys(rights, 1.0)
    assert (found["harm"], found["untold_cost"], found["false_alarm"]) == (0.0, 0.0, None)
    assert found["sd_ratio"] is not None
    assert found["sd_ratio"] < 0.5


def test_every_score_is_described_and_has_a_reason(case: RecordedCase) -> None:
    found = scored(claim(), TRUE, case)
    assert found.keys() == KINDS.keys() - {"replay", "seconds", *OF_MADE}
    assert all(score.reason for score in found.values())


def test_what_moves_with_the_cause_is_right_but_not_the_cause(case: RecordedCase) -> None:
    found = values(claim("cache_misses"), TRUE, case)
    assert (found["cause@1"], found["cause@3"], found["mrr"], found["strict"]) == (1.0, 1.0, 0.0, 0.0)
    assert found["injected@1"] == 0.0
    assert "moves with the cause" in scored(claim("cache_misses"), TRUE, case)["cause@1"].reason
    both = values(claim("cache_misses", "page_faults"), TRUE, case)
    assert (both["mrr"], both["strict"]) == (1.0, 1.0)


def test_the_strict_score_is_the_precision_once_no_cause_is_missing(case: RecordedCase) -> None:
    assert values(claim("page_faults", "interrupts"), TRUE, case)["strict"] == 0.5
    two = TRUE.model_copy(update={"causes": ("page_faults", "io_wait")})
    assert values(claim("page_faults"), two, case)["strict"] == 0.0


def test_the_ranking_counts_for_the_first_three_and_not_for_the_claim(case: RecordedCase) -> None:
    ranked = ContestAnswer(
        verdict="cause not visible, remedy not tried", ranked=("interrupts", "io_wait", "page_faults")
    )
    found = values(ranked, TRUE, case)
    assert (found["cause@1"], found["cause@3"]) == (0.0, 1.0)
    assert found["mrr"] == pytest.approx(1 / 3)


def test_a_verdict_that_the_rule_policy_helped_to_is_not_reached_alone(case: RecordedCase) -> None:
    helped = claim("page_faults", calls=9, fallbacks=4)
    found = scored(helped, TRUE, case)
    assert (found["verdict"].value, found["alone"].value) == (1.0, 0.0)
    assert found["alone"].reason.startswith("The rule policy took 4 of 9 decisions.")
    assert values(helped.model_copy(update={"fallbacks": 0}), TRUE, case)["alone"] == 1.0


def test_who_makes_no_calls_has_none_that_could_be_illegal(case: RecordedCase) -> None:
    counted = ("calls", "illegal", "repeated", "fallbacks")
    assert {values(claim(), TRUE, case)[name] for name in counted} == {None}
    assert [values(claim(calls=7), TRUE, case)[name] for name in counted] == [7.0, 0.0, 0.0, 0.0]


def test_what_was_tried_stands_beside_what_was_not_claimed(case: RecordedCase) -> None:
    in_vain = ContestAnswer(verdict="cause explained, remedy undecided", tried=("pin_to_cpu",))
    reason = scored(in_vain, TRUE, case)["mitigation"].reason
    assert reason == f"None is claimed (tried: pin_to_cpu); accepted: {HELPS}."


def test_gains_are_judged_only_where_there_is_something_to_gain(case: RecordedCase) -> None:
    found = values(claim(mitigation=HELPS), CONTROL, case)
    assert {found[name] for name in ("sd_ratio", "cv_ratio", "mean_ratio", "regret")} == {None}
    assert found["untold_cost"] == 0.0


def test_a_claim_on_a_control_is_a_false_alarm(case: RecordedCase) -> None:
    for answer in (claim("io_wait"), claim(mitigation="pin_to_cpu")):
        score = scored(answer, CONTROL, case)["false_alarm"]
        assert score.value == 1.0
        assert "io_wait" in score.reason or "pin_to_cpu" in score.reason
    assert values(ContestAnswer(verdict="steady"), CONTROL, case)["false_alarm"] == 0.0
    assert values(claim("io_wait"), CONTROL, case)["cause@1"] is None


def test_what_is_plainly_there_is_no_false_alarm_and_a_cure_for_it_is(case: RecordedCase) -> None:
    tenant = CONTROL.model_copy(update={"also_true": ("run_queue_wait",)})
    named = ContestAnswer(verdict="cause explained, remedy refuted", causes=("run_queue_wait",))
    assert values(named, tenant, case)["false_alarm"] == 0.0
    assert values(named.model_copy(update={"causes": ("page_faults",)}), tenant, case)["false_alarm"] == 1.0
    assert values(named.model_copy(update={"mitigation": "sched_fifo"}), tenant, case)["false_alarm"] == 1.0


def test_a_crash_is_a_wrong_verdict_and_no_quiet_control(case: RecordedCase) -> None:
    crashed = ContestAnswer(verdict="", ended="crashed: ZeroDivisionError")
    score = scored(crashed, TRUE, case)["verdict"]
    assert (score.value, "crashed" in score.reason) == (0.0, True)
    assert values(crashed, CONTROL, case)["false_alarm"] is None


def test_a_mitigation_that_is_known_not_to_help_is_harm(case: RecordedCase) -> None:
    found = values(claim("page_faults", mitigation="pin_to_cpu"), TRUE, case)
    assert (found["harm"], found["mitigation"]) == (1.0, 0.0)
    assert found["regret"] is not None
    assert found["regret"] > 1.5


def test_what_is_not_known_to_help_is_no_bound_however_lucky_its_pairs(case: RecordedCase) -> None:
    second = next(key for key in MITIGATIONS if key != HELPS and measured_ratio(case, key))
    truth = TRUE.model_copy(update={"accepted": (second,), "must_not_help": ()})
    assert values(claim("page_faults", mitigation=second), truth, case)["regret"] == 1.0
    assert values(claim("page_faults", mitigation=HELPS), truth, case)["regret"] == 1.0


def test_who_claims_no_mitigation_is_scored_with_what_that_comes_to(case: RecordedCase) -> None:
    found = values(claim("page_faults"), TRUE, case)
    best = measured_ratio(case, HELPS)
    assert best is not None
    assert best.sd is not None
    assert (found["sd_ratio"], found["mean_ratio"]) == (1.0, 1.0)
    assert found["regret"] == pytest.approx(1 / best.sd)
    assert values(ContestAnswer(verdict="steady"), CONTROL, case)["sd_ratio"] is None


@pytest.mark.parametrize(
    ("truth", "ended", "value"),
    [
        (TRUE, f"not recorded: no pairs with {HELPS}; choose another.", None),
        (TRUE, "not recorded: no pairs with sched_fifo; choose another.", 0.0),
        (TRUE, "not recorded: no further run of baseline.", None),
        (CONTROL, f"not recorded: a third batch of {HELPS}.", 0.0),
    ],
)
def test_what_is_not_recorded_is_no_failure_where_it_was_needed(
    case: RecordedCase, truth: Truth, ended: str, value: float | None
) -> None:
    found = values(ContestAnswer(verdict="cause explained, remedy undecided", not_recorded=(ended,)), truth, case)
    assert (found["verdict"], found["not_recorded"]) == (value, 1.0)


def test_a_right_verdict_stays_right_whatever_was_not_recorded(case: RecordedCase) -> None:
    lacking = claim("page_faults", not_recorded=(f"not recorded: a third batch of {HELPS}.",))
    assert values(lacking, TRUE, case)["verdict"] == 1.0


def test_a_worse_mean_has_to_be_told(case: RecordedCase, monkeypatch: pytest.MonkeyPatch) -> None:
    slower = case.recording.model_copy(
        update={"subject": case.recording.subject.model_copy(update={"lower_is_better": False})}
    )
    other = RecordedCase(case.folder, case.file, slower, case.layers)  # more is better, so that the cure costs
    measured = measured_ratio(other, HELPS)
    assert measured is not None
    assert measured.mean is not None
    assert measured.mean < 0.95
    assert values(claim("page_faults", mitigation=HELPS), TRUE, other)["untold_cost"] == 1.0
    told = claim("page_faults", mitigation=HELPS, price_told=True)
    assert values(told, TRUE, other)["untold_cost"] == 0.0


def test_evidence_is_asked_only_of_those_who_leave_a_transcript(case: RecordedCase) -> None:
    assert values(claim(), TRUE, case)["evidence"] is None
    wrong = scored(claim(transcript="f00", evidence=("Call 3 does not exist.",)), TRUE, case)["evidence"]
    assert wrong == Score(value=0.0, reason="Call 3 does not exist.")


keys = st.lists(st.sampled_from(FACTORS), unique=True, max_size=5)


@FEW
@given(keys, keys, st.sampled_from(("", *MITIGATIONS)), st.lists(st.sampled_from(FACTORS), min_size=1, unique=True))
def test_laws(case: RecordedCase, causes: Sequence[str], ranked: Sequence[str], key: str, true: Sequence[str]) -> None:
    answer = claim(*causes, ranked=tuple(ranked), mitigation=key)
    found = values(answer, TRUE.model_copy(update={"causes": tuple(true), "also_true": ()}), case)
    any_right = float(bool(set(causes) & set(true)))
    shares = [found[name] for name in ("cause@1", "cause@3", "mrr", "strict")]
    assert all(share is not None and 0 <= share <= 1 for share in shares)
    first, third, _, strict = (share or 0.0 for share in shares)
    assert strict <= any_right
    assert first <= third
    assert first <= any_right
    assert found["regret"] is not None
    assert found["regret"] >= 1 - 1e-12


@FEW
@given(st.permutations(FACTORS))
def test_the_best_recorded_mitigation_has_no_regret(case: RecordedCase, causes: Sequence[str]) -> None:
    assert values(claim(*causes, mitigation=HELPS), TRUE, case)["regret"] == 1.0
