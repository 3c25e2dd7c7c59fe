"""Simulated diagnoses: legal, valid, the same again, and such that the rule policy does better than chance."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.training.judge import judge
from vgo_agent.agent.planners.base import Choice, Rules, View
from vgo_agent.evals.contest.contestants import RandomLegal
from vgo_agent.evals.simulator.diagnosis import MOST_DECISIONS, diagnose
from vgo_agent.evals.simulator.world import SHARES, drawn
from vgo_agent.tools.registry import TOOLS
from vgo_agent.tools.verdict import TITLES

from ..examples import examples
from .simulated import kept, views

SEEDS = st.integers(0, 10**9)


@settings(max_examples=examples(0.5), deadline=None)
@given(SEEDS, st.sampled_from((0.0, 0.3, 1.0)))
def test_a_diagnosis_is_legal_ends_and_stays_within_its_budget(seed: int, share: float) -> None:
    world = drawn(seed)
    ended, seen = kept(world, share)
    assert ended.illegal == 0
    assert ended.verdict in TITLES
    assert len(seen) <= ended.decisions <= MOST_DECISIONS + 1
    # The last call may go over: its amount is bounded, its cost is not known before.
    assert ended.spent_s <= 2 * world.limits.budget_s
    assert ended.cured <= bool(ended.mitigation)


@settings(max_examples=examples(0.2), deadline=None)
@given(SEEDS)
def test_results_are_what_a_transcript_would_give_back(seed: int) -> None:
    for call in views(drawn(seed))[-1].record.calls:
        if call.result is not None:
            assert replace(call).read(TOOLS[call.tool].result) == call.read(TOOLS[call.tool].result)


def test_a_world_is_the_same_again() -> None:
    for seed in range(12):
        assert drawn(seed) == drawn(seed)
        assert diagnose(drawn(seed), Rules()) == diagnose(drawn(seed), Rules())


@pytest.mark.slow
def test_worlds_are_of_every_kind_and_go_wrong_in_many_ways() -> None:
    worlds = [drawn(seed) for seed in range(300)]
    assert {world.kind for world in worlds} == set(SHARES)
    errors, verdicts, second_looks = set[str](), set[str](), 0
    for world in worlds:
        ended, seen = kept(world, 0.1)
        verdicts.add(ended.verdict)
        calls = seen[-1].record.calls
        errors |= {call.error.partition(":")[0].split(" ")[-1] for call in calls if call.error}
        second_looks += sum(call.tool == "profile" and call.result is not None for call in calls) > 1
    assert verdicts >= {
        "cause explained, remedy confirmed",
        "cause explained, remedy undecided",
        "cause not visible, remedy undecided",
        "steady",
        "unusable",
    }
    assert second_looks > 5 and len(errors) >= 3


def test_the_rule_policy_cures_more_often_than_chance_and_spends_no_more_decisions_than_it_may(
    request: pytest.FixtureRequest,
) -> None:
    some = [drawn(seed) for seed in range(200 if request.config.getoption("--all") else 50)]
    usual, chance = judge(Rules(), some), judge(RandomLegal(1), some)
    assert usual.curable == chance.curable > len(some) // 5
    assert usual.cured > 1.5 * chance.cured
    assert usual.wrong <= 0.05 * usual.diagnoses
    assert usual.verdicts == usual.diagnoses


class Wild:
    """Says what is not legal, then gives up."""

    name = "wild"

    def choose(self, view: View) -> Choice:
        if view.decisions < 3:
            return Choice("compare", {"call": "c999"}, "")
        return Choice("conclude", {}, "")


def test_what_is_not_legal_becomes_an_error_and_is_counted() -> None:
    ended = diagnose(drawn(1), Wild())
    assert ended.illegal == 3 and ended.decisions == 4 and ended.verdict == "unusable"
