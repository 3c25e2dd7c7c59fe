"""What layers do to the runs that they watch, and when they are set aside for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.claim import Claim, TooFew
from vgo_agent.tools.distortion import distortion, gap_of, only_in, other_behaviour, with_their_parts
from vgo_agent.tools.execution.capture import SAID, without_numbers

from ..examples import examples


def judged(bare, runs, gap, layers=("process", "strace"), sets=2):
    return distortion(layers, list(bare), list(runs), gap, sets=sets, seed=1)


def bimodal(seed, runs, slow=0.3, gap=0.1):
    rng = np.random.default_rng(seed)
    return 0.2 + gap * (rng.random(runs) < slow) + rng.normal(0, 0.005, runs)


def test_a_shift_beyond_the_difference_of_slow_and_fast_runs_sets_the_layer_aside():
    found = judged(bimodal(1, 40), bimodal(2, 60) + 0.3, gap_of(bimodal(1, 40)))
    assert isinstance(found.mean, Claim) and found.mean.low > 1.5
    assert "mean by +" in found.set_aside and "more than slow and fast runs differ" in found.set_aside


def test_a_shift_within_the_difference_is_told_and_the_layer_kept():
    found = judged(bimodal(1, 40), bimodal(2, 60) + 0.05, gap_of(bimodal(1, 40)))
    assert isinstance(found.mean, Claim) and found.mean.low > 1
    assert found.set_aside == ""


def test_where_the_runs_cannot_rule_out_a_shift_as_large_as_the_gap_that_is_told():
    assert not judged(bimodal(1, 40), bimodal(2, 60), 0.1).unsure
    assert judged(bimodal(1, 40), bimodal(2, 60), 0.01).unsure and judged(bimodal(1, 9), bimodal(2, 60), 0.1).unsure
    assert not judged(bimodal(1, 40), bimodal(2, 60) + 0.3, 0.1).unsure, "it is set aside"


def test_another_spread_sets_the_layer_aside():
    rng = np.random.default_rng(3)
    found = judged(rng.normal(1, 0.01, 60), rng.normal(1, 0.05, 60), gap=10.0)
    assert "spread by +" in found.set_aside


@pytest.mark.parametrize("seed", range(12))
def test_bare_runs_that_by_luck_hold_no_slow_one_set_nothing_aside(seed):
    bare = bimodal(seed, 20, slow=0.0)
    assert judged(bare, bimodal(seed + 100, 100, slow=0.04), gap_of(bimodal(50, 200, slow=0.04))).set_aside == ""


def test_too_few_bare_runs_say_nothing():
    found = judged([0.2], bimodal(2, 60) + 5, 0.1)
    assert (found.mean, found.spread, found.set_aside) == (None, None, "")
    few = judged(bimodal(1, 9), bimodal(2, 60) + 5, 0.1)
    assert isinstance(few.mean, TooFew) and few.set_aside == ""


@settings(derandomize=True, deadline=None, max_examples=examples(0.2))
@given(st.floats(1e-3, 1e3), st.integers(0, 50))
def test_the_unit_changes_no_verdict(unit, seed):
    bare, runs = bimodal(seed, 30), bimodal(seed + 1, 30) + 0.2
    ours, theirs = judged(bare, runs, gap_of(bare)), judged(bare * unit, runs * unit, gap_of(bare * unit))
    assert bool(ours.set_aside) == bool(theirs.set_aside)
    assert isinstance(ours.spread, Claim) and isinstance(theirs.spread, Claim)
    assert theirs.spread.ratio == pytest.approx(ours.spread.ratio)


def test_what_holds_a_set_that_was_set_aside_is_set_aside_too():
    light = judged(bimodal(1, 40), bimodal(2, 60) + 0.3, 0.1, layers=("process",))
    both = judged(bimodal(1, 40), bimodal(3, 60), 0.1)
    assert not both.set_aside
    assert with_their_parts([light, both])[1].set_aside == "process is part of it"
    assert with_their_parts([both])[0] == both


def test_runs_that_do_not_differ_have_no_gap():
    assert gap_of([1.0] * 30) == 0 and gap_of([1.0]) == 0
    assert gap_of(bimodal(4, 300)) == pytest.approx(0.1, abs=0.01)


def rows(kinds):
    """Runs that end well and print lines, as a bench has them; of None they fail."""
    return [
        {
            "ok": int(kind is not None),
            "exit_code": int(kind is None),
            "wall_s": 0.1,
            SAID: {one: one for one in kind or ()},
        }
        for kind in kinds
    ]


def test_a_line_that_only_runs_print_that_are_looked_at_is_named_and_one_that_varies_is_not():
    same = [{"start", f"word {place}"} for place in range(50)]
    assert other_behaviour(rows(same[:20]), rows(same[20:]), 2) == ""
    warned = [one | {"cannot fork"} if place % 2 else one for place, one in enumerate(same[20:])]
    assert other_behaviour(rows(same[:20]), rows(warned), 2) == (
        "what it prints differs when it is looked at: 'cannot fork' in 15 of 30 runs, in none of 20 bare ones"
    )
    assert other_behaviour(rows(same[:20]), rows(warned[:4]), 2) == "", "too few to tell"
    assert other_behaviour(rows(warned), rows(same), 2) == "", "that the other text is missing is no fault"


def test_failures_that_looking_hides_set_a_layer_aside_too():
    words = other_behaviour(rows([None, set()] * 10), rows([set()] * 30), 1)
    assert words.startswith("the program fails less often: 0 of 30 runs failed with it, 10 of 20 without")
    assert other_behaviour(rows([None, set()] * 10), rows([None, set()] * 15), 1) == ""


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 12), st.integers(10, 40))
def test_programs_that_print_at_random_are_blamed_no_more_often_than_alpha(seed, words, lines):
    rng, alpha, blamed, trials = np.random.default_rng(seed), 0.05, 0, 40
    for _ in range(trials):
        said = [set(map(str, rng.integers(words * lines, size=words))) for _ in range(50)]
        blamed += only_in(said[:20], said[20:], alpha) is not None
    assert blamed <= 8, "of 40, where 2 are expected at most: the chance of more is 1e-4"


def test_lines_are_the_same_whatever_their_numbers_and_how_far_a_bar_has_come():
    for one, other in (
        ("took 900 ms, done", "took 1.1 s, done"),
        ("[12:00:01] a", "2026-11-27 9:59 a"),
        ("work ....", "work ........."),
    ):
        assert without_numbers(one) == without_numbers(other) != ""
    assert without_numbers("1.5 2 ----") == "" and without_numbers("cannot\x1b open") == "cannot? open"
