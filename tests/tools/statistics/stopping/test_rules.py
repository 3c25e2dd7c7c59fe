"""The stopping rules by name: laws they keep, and what each sees or is blind to."""

from __future__ import annotations

from inspect import getmembers, isfunction, signature
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from vgo_agent.tools.statistics.stopping import decisions
from vgo_agent.tools.statistics.stopping.decisions import OutcomesSoFar
from vgo_agent.tools.statistics.stopping.rules import RULES, looks
from vgo_agent.tools.statistics.values import FloatArray

steady = settings(deadline=None, derandomize=True)
TIMES = st.lists(st.integers(1_000, 10_000_000).map(lambda us: us / 1e6), min_size=2, max_size=60)
ANY_RULE = st.sampled_from(sorted(RULES))
ON_OUTCOMES = sorted(name for name, one in RULES.items() if not one.at_every_run)
ON_THE_MEAN = ("se", "ci", "hdi", "bayesian-bootstrap")


def asked(name: str, runs: FloatArray, target: float | None = None) -> bool:
    return RULES[name].decide(OutcomesSoFar.of(runs), RULES[name].target if target is None else target).known


def stopped(name: str, runs: FloatArray, minimum: int = 30) -> int:
    """Runs at which a rule stops; all of them when it does not."""
    times = takewhile(lambda n: n <= runs.size, looks(RULES[name], minimum))
    return next((n for n in times if asked(name, runs[:n])), runs.size)


def normal(n: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).normal(1, 0.05, n)


def test_each_rule_is_a_function_and_each_function_of_its_kind_is_a_rule() -> None:
    kind = list(signature(decisions.count).parameters)
    found = {name for name, one in getmembers(decisions, isfunction) if list(signature(one).parameters) == kind}
    assert {name.replace("_", "-") for name in found} == set(RULES)
    assert all(callable(one.decide) for one in RULES.values())


@steady
@given(ANY_RULE, TIMES)
def test_the_same_runs_get_the_same_answer_with_a_reason(name: str, times: list[float]) -> None:
    one, runs = RULES[name], OutcomesSoFar.of(times)
    answer = one.decide(runs, one.target)
    assert answer == one.decide(runs, one.target)
    assert answer.reason
    assert answer.n == len(times)


@steady
@given(st.sampled_from(ON_OUTCOMES), TIMES)
def test_no_rule_on_outcomes_depends_on_their_unit(name: str, times: list[float]) -> None:
    assert asked(name, np.array(times)) == asked(name, np.array(times) * 1024)


@steady
@given(ANY_RULE, TIMES, st.floats(1.1, 5))
def test_a_rule_that_stops_would_stop_at_any_laxer_target(name: str, times: list[float], factor: float) -> None:
    laxer = 1 / factor if name in ("count", "duration") else factor
    target = RULES[name].target
    assert asked(name, np.array(times), target * laxer) >= asked(name, np.array(times), target)


@steady
@given(st.sampled_from(["count", "duration"]), TIMES, st.integers(0, 60))
def test_a_rule_that_looks_at_no_outcome_never_takes_back_its_stop(name: str, times: list[float], cut: int) -> None:
    target = {"count": 20.0, "duration": 5.0}[name]
    assert asked(name, np.array(times), target) >= asked(name, np.array(times[:cut]), target)


@pytest.mark.parametrize("name", ON_OUTCOMES)
def test_equal_runs_stop_every_rule_on_outcomes(name: str) -> None:
    assert asked(name, np.full(40, 3.5))


@pytest.mark.parametrize("name", ON_THE_MEAN)
def test_a_mean_of_zero_or_below_is_no_reason_to_stop(name: str) -> None:
    around_zero = np.tile([-1.0, 1.0], 20)
    assert not asked(name, around_zero)
    wide = np.random.default_rng(2).normal(-1, 3, 40)
    assert not asked(name, wide), "a negative mean makes a naive ratio negative, which is below any target"


@pytest.mark.parametrize("name", ON_THE_MEAN)
def test_rules_on_the_mean_stop_at_their_minimum_where_the_sd_is_hardly_known(name: str) -> None:
    assert stopped(name, normal(400)) == 30


def test_the_spread_rule_goes_on_until_the_sd_is_known() -> None:
    runs = normal(400)
    assert not asked("spread", runs[:60]), "six runs above p90 say little about a tail"
    answer = RULES["spread"].decide(OutcomesSoFar.of(runs[:120]), 1.25)
    assert answer.known and answer.factor is not None and answer.factor <= 1.25
    assert "fewer than one of 40 runs may not have been seen" in answer.reason


def test_the_spread_rule_does_not_stop_on_rare_spikes_that_it_has_seen() -> None:
    rng = np.random.default_rng(3)
    spiky = 1 + 0.01 * rng.normal(size=300) + np.where(rng.random(300) < 0.03, rng.exponential(1, 300), 0)
    assert stopped("spread", spiky) == 300


def test_the_spread_rule_is_not_deceived_by_runs_that_resemble_their_neighbours() -> None:
    def drifting(seed: int) -> FloatArray:
        drawn: FloatArray = 1 + 0.05 * lfilter([1], [1, -0.9], np.random.default_rng(seed).normal(size=900))[100:]
        return drawn

    dependent = [stopped("spread", drifting(seed)) for seed in range(12)]
    independent = [stopped("spread", normal(800, seed)) for seed in range(12)]
    assert np.median(dependent) > 2.5 * np.median(independent)


def test_the_halves_of_drifting_runs_do_not_agree() -> None:
    level = normal(300)
    assert asked("ks", level) and not asked("ks", level + np.linspace(0, 0.1, 300))


def test_the_mixture_settles_on_two_modes() -> None:
    rng = np.random.default_rng(4)
    runs = rng.normal(0, 1, 400) + 8 * (rng.random(400) < 0.3)
    assert not asked("mixture", runs[:30])
    assert asked("mixture", runs)


def test_fixed_rules_are_asked_after_every_run_and_the_others_after_a_tenth_more() -> None:
    count, spread = looks(RULES["count"], 5), looks(RULES["spread"], 30)
    assert [next(count) for _ in range(4)] == [5, 6, 7, 8]
    assert [next(spread) for _ in range(6)] == [30, 33, 37, 41, 46, 51]


def test_a_duration_is_that_of_the_program_whatever_the_outcome_is() -> None:
    runs = OutcomesSoFar.of([5000.0] * 10, spent_s=2.0)
    assert not RULES["duration"].decide(runs, 3.0).known
    assert RULES["duration"].decide(runs, 2.0).known
