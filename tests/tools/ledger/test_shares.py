"""VarianceShares of the variance and gaps between slow and fast runs, by state: they add up, and name what varies."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vgo_agent.tools.ledger.shares import shares


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
