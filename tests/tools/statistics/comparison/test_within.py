"""Pairs of several hosts: what the hosts differ by is no spread, and says nothing where nothing else differs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.claim import Arms, Claim, claim
from vgo_agent.tools.statistics.comparison.description import describe_arms, within

SEEDS = st.integers(0, 2**32 - 1)
HOSTS = st.lists(st.integers(0, 4), min_size=10, max_size=40)


def arms(seed: int, pairs: int, ratio: float = 1.0):
    chance = np.random.default_rng(seed)
    return chance.lognormal(0, 0.5, pairs), 3 + ratio * chance.lognormal(0, 0.5, pairs)


@given(seed=SEEDS, hosts=HOSTS)
@settings(deadline=None)
def test_means_stay_and_of_one_host_everything(seed, hosts):
    x, y = arms(seed, len(hosts))
    for hosts_too in (np.array(hosts), np.zeros(len(hosts), dtype=np.int64)):
        found = within(x, y, hosts_too)
        for before, after in zip((x, y), found.arms, strict=True):
            assert after.mean() == pytest.approx(before.mean())
    np.testing.assert_allclose(found.arms, (x, y))


@given(seed=SEEDS, hosts=HOSTS, levels=st.lists(st.floats(-50, 50), min_size=5, max_size=5))
@settings(deadline=None)
def test_the_levels_of_hosts_do_not_count_but_for_pairs_that_are_alone(seed, hosts, levels):
    x, y = arms(seed, len(hosts))
    codes, counts = np.array(hosts), np.bincount(hosts, minlength=5)
    many = counts[codes] > 1
    off = np.array(levels)[codes]
    before, after = within(x, y, codes), within(x + off, y + off, codes)
    assert before.alone == (~many).sum() and before.hosts == len(set(hosts))
    for one, two in zip(before.arms, after.arms, strict=True):
        moved = (two - one)[many]
        assert moved.size == 0 or np.ptp(moved) < 1e-9


def test_the_sd_is_that_of_a_one_way_analysis():
    codes = np.repeat(np.arange(4), (3, 9, 2, 6))
    x, y = arms(1, codes.size)
    (found, _) = within(x + 10 * codes, y, codes).arms
    squares = sum(
        ((x[codes == host] - x[codes == host].mean()) ** 2).sum() * n / (n - 1) for host, n in enumerate((3, 9, 2, 6))
    )
    assert found.var(ddof=1) == pytest.approx(squares / codes.size)


def test_a_strong_cure_is_found_as_strong_on_hosts_far_apart():
    codes = np.tile(np.arange(6), 10)
    x, y = arms(5, codes.size, ratio=0.13)
    found = describe_arms(x + 20 * codes, y + 20 * codes, hosts=codes)
    sd = found.ratio("sd")
    assert sd.low is not None and sd.high is not None
    assert sd.low < 0.13 < sd.high < 0.25
    assert any("within 6 hosts" in note for note in found.notes)
    hidden = describe_arms(x + 20 * codes, y + 20 * codes).ratio("sd").value
    assert hidden is not None and hidden > 0.9, "without hosts, their levels hide it"


def test_a_pair_that_did_not_end_takes_its_host_along():
    codes = np.tile(np.arange(4), 10)
    x, y = arms(2, codes.size)
    kept = np.arange(codes.size) != 7
    x_cut = np.where(kept, x, np.nan)
    found, again = describe_arms(x_cut, y, hosts=codes), describe_arms(x[kept], y[kept], hosts=codes[kept])
    assert found.dropped == 1 and found.ratios == again.ratios


@pytest.mark.parametrize(("hosts", "each"), [(10, 3), (4, 10)])
def test_where_nothing_differs_little_is_claimed(hosts, each):
    """Levels found from few runs of the baseline alone gave .3 with three pairs a host."""
    codes = np.tile(np.arange(hosts), each)
    claimed = 0
    for seed in range(60):
        x, y = arms(seed, codes.size)
        found = claim(Arms(x + 5 * codes, y - 3 + 5 * codes, hosts=codes), seed=seed)
        assert isinstance(found, Claim)
        claimed += found.p_value < 0.05
    assert claimed <= 8  # 3 expected; 9 and more come once in 450


def test_pairs_that_are_alone_on_their_host_are_told():
    codes = np.array([*range(12), 12, 12, 12])
    x, y = arms(3, codes.size)
    assert any("12 pairs are alone on their host" in note for note in describe_arms(x, y, hosts=codes).notes)
