"""What layers do to the runs that they watch, and when they are set aside for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.claim import Claim, TooFew
from vgo_agent.tools.distortion import distortion, gap_of, with_their_parts


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


@settings(derandomize=True, deadline=None, max_examples=10)
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
