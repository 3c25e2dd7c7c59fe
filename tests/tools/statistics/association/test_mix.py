"""Whether slow runs share their time among functions as fast ones do: what must not matter does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.association.mix import ALPHA, compare_mixes, going_with


def drawn(seed: int, runs: int = 30, slow: float = 0.5, functions: int = 12, slower: float = 3.0):
    """Samples of runs that share their time alike, slow ones having more of it, and which are slow."""
    chance = np.random.default_rng(seed)
    is_slow = chance.random(runs) < slow
    is_slow[:2] = True, False
    shares = chance.dirichlet(60 * (0.002 + chance.dirichlet(np.full(functions, 0.5))), runs)
    counts = chance.multinomial(chance.poisson(np.where(is_slow, 40 * slower, 40)), shares)
    return counts.astype(np.float64), is_slow


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(8, 40), st.floats(0.1, 0.9))
def test_neither_the_names_of_functions_nor_those_of_the_classes_matter(seed, runs, share):
    counts, slow = drawn(seed, runs, share)
    found, order = compare_mixes(counts, slow, seed=1), np.random.default_rng(seed).permutation(counts.shape[1])
    named, swapped = compare_mixes(counts[:, order], slow, seed=1), compare_mixes(counts, ~slow, seed=1)
    assert found is not None and named is not None and swapped is not None
    for other, places in ((named, order), (swapped, slice(None))):
        assert other.p_value == found.p_value and other.distance == pytest.approx(found.distance)
        assert np.array_equal(other.p_values, found.p_values[places])
    assert swapped.more == pytest.approx(-found.more) and 0 <= found.distance <= 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(1, 9), st.integers(2, 30))
def test_runs_that_share_their_time_equally_never_differ(counts, times, runs):
    slow = np.arange(runs) % 2 == 0
    each = np.where(slow, times, 1)[:, None] * np.array(counts, dtype=np.float64)
    found = compare_mixes(each, slow, seed=1)
    assert found is None if not sum(counts) else found is not None and found.p_value == 1 and found.p_values.min() == 1


def test_of_mixes_that_are_alike_few_differ_however_unequal_the_runs_and_of_other_ones_nearly_all():
    def differs(seed, moved):
        counts, slow = drawn(seed, slow=0.25, slower=8.0)
        counts[slow, 0] += np.random.default_rng(seed).binomial(320, moved, slow.sum())
        found = compare_mixes(counts, slow, seed)
        assert found is not None
        return found.p_value <= ALPHA

    assert sum(differs(seed, 0.0) for seed in range(100)) <= 11  # of Binomial(100, .05) in all but 1 of 200
    assert sum(differs(seed, 0.5) for seed in range(20)) >= 18


def test_what_goes_with_a_time_is_told_from_what_does_not():
    chance = np.random.default_rng(1)
    time = chance.normal(size=40)
    beside = np.column_stack((time + chance.normal(0, 0.3, 40), -time, chance.normal(size=(40, 8)), np.zeros(40)))
    found, p_values = going_with(time, beside, seed=1)
    assert found[0] > 0.9 and found[1] == pytest.approx(-1) and (p_values[:2] < 0.01).all()
    assert (p_values[2:] > ALPHA).all() and p_values[-1] == 1
    assert (going_with(np.ones(40), beside, seed=1)[1] == 1).all()
