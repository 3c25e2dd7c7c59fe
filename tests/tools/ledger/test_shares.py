"""VarianceShares of the variance and gaps between slow and fast runs, by state: they add up, and name what varies."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vgo_agent.tools.ledger.causes import LedgerCause
from vgo_agent.tools.ledger.ledger import Ledger
from vgo_agent.tools.ledger.recognise import RecognisedFactor
from vgo_agent.tools.ledger.shares import shares
from vgo_agent.tools.ledger.split import SlowRuns

CAUSE: Any = LedgerCause
LEDGER: Any = Ledger
"""Of which a test gives the fields that count alone."""


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(10, 60), st.integers(1, 6))
def test_shares_add_up_to_one_and_gaps_to_the_gap(seed, runs, states):
    chance = np.random.default_rng(seed)
    split = {f"state{place}": chance.lognormal(0, chance.uniform(0.1, 1.5), runs) for place in range(states)}
    found = shares(np.sum(list(split.values()), axis=0), split, seed=1)
    assume(found is not None)
    assert found is not None
    assert sum(one.share for one in found.states) == pytest.approx(1)
    assert sum(one.gap_ms for one in found.states) == pytest.approx(found.gap_ms)
    assert [one.share for one in found.states] == sorted((one.share for one in found.states), reverse=True)
    assert found.gap_interval.low <= found.gap_ms <= found.gap_interval.high


def test_the_state_that_varies_is_material_and_one_that_does_not_is_not():
    chance = np.random.default_rng(5)
    slow = chance.random(40) < 0.4
    split = {
        "disk": 2 + 40 * slow + chance.normal(0, 1, 40),
        "user": 100 + chance.normal(0, 1, 40),
        "socket": np.zeros(40),
    }
    found = shares(np.sum(list(split.values()), axis=0), split, seed=1)
    assert found is not None
    assert [one.state for one in found.material] == ["disk"]
    assert found.material[0].gap_ms == pytest.approx(40, abs=2)
    assert found.taken_out[0].sd_left < 0.1


def test_of_runs_that_do_not_vary_or_are_few_nothing_is_said():
    assert shares(np.full(30, 5.0), {"user": np.full(30, 5.0)}, seed=1) is None
    assert shares(np.arange(7.0), {"user": np.arange(7.0)}, seed=1) is None


def test_three_fast_runs_of_nineteen_show_what_slow_ones_have_more_of():
    chance = np.random.default_rng(2)
    slow = np.arange(19) >= 3
    split = {"socket": 2 + 80 * slow + chance.normal(0, 2, 19), "user": 100 + chance.normal(0, 10, 19)}
    found = shares(np.sum(list(split.values()), axis=0), split, 1, SlowRuns(slow, "told"))
    assert found is not None and [one.state for one in found.material] == ["socket"]


def test_a_state_that_slow_runs_may_have_no_more_of_is_not_material():
    chance = np.random.default_rng(2)
    rare = 60.0 * (np.arange(30) == 3)
    split = {"interrupt": rare + chance.normal(5, 0.1, 30), "user": 100 + chance.normal(0, 10, 30)}
    time_ms = np.sum(list(split.values()), axis=0)
    found = shares(time_ms, split, 1, SlowRuns(time_ms > np.median(time_ms), "told"))
    interrupt = found and found.state("interrupt")
    assert found is not None and interrupt is not None
    assert interrupt.gap_ms > 3 and interrupt.gap_interval.low <= 0
    assert [one.state for one in found.material] == ["user"]


@pytest.mark.parametrize(("second_ms", "factor"), [(2.0, "directory_locks"), (1.4, "")])
def test_a_part_half_as_large_names_the_factor_of_a_state_whose_first_part_looks_like_none(second_ms, factor):
    locks = RecognisedFactor(factor="directory_locks", name="Locks", cure="Use another directory.")
    parts = [
        CAUSE.model_construct(state="system", what=what, gap_ms=ms, recognised=known)
        for what, ms, known in (("write", 3.0, None), ("unlink", second_ms, locks))
    ]
    found = LEDGER.model_construct(causes=tuple(parts)).recognised_in("system")
    assert (found.factor if found else "") == factor
    assert LEDGER.model_construct(causes=tuple(parts)).recognised_in("user") is None


@pytest.mark.parametrize(("second_ms", "factor"), [(2.0, "delayed_acknowledgements"), (1.4, "blocking_waits")])
def test_what_any_part_of_a_state_looks_like_comes_after_what_one_shows(second_ms, factor):
    waits = RecognisedFactor(factor="blocking_waits", name="Waiting", cure="Look at the other.", by_state=True)
    late = RecognisedFactor(factor="delayed_acknowledgements", name="Late", cure="Set TCP_NODELAY.")
    parts = [
        CAUSE.model_construct(state="socket", what=what, gap_ms=ms, recognised=known)
        for what, ms, known in (("read", 3.0, waits), ("recvfrom", second_ms, late))
    ]
    assert LEDGER.model_construct(causes=tuple(parts)).recognised_in("socket").factor == factor
