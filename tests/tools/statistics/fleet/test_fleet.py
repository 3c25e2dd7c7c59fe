"""Odd nodes are found, ordinary ones are not, and the laws of ratios hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.fleet.levels import drained, levels, odd, pooled
from vgo_agent.tools.statistics.fleet.shares import between, differs, medians, shares

from ...conftest import Draws
from ...levels import most


def fleet(nodes, runs, *, between=0.01, within=0.03, slow=(), by=0.1, seed=1):
    """Outcomes in mixed order, and the node of each."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0, between, nodes)
    level[list(slow)] += np.log1p(by)
    codes = rng.permutation(np.repeat(np.arange(nodes), runs))
    return np.exp(level[codes] + rng.normal(0, within, codes.size)), codes


def found_in(outcome, codes, margin=0.02):
    names = [str(node) for node in range(codes.max() + 1)]
    of = levels(outcome, codes, names)
    return odd(of.location, of.location_error, of.runs, margin=np.log1p(margin))


def test_slow_nodes_are_named_and_no_others():
    found = found_in(*fleet(40, 30, slow=(3, 17), seed=2))
    assert np.flatnonzero(found.odd).tolist() == [3, 17]
    assert found.between_sd == pytest.approx(0.01, rel=0.5)


def test_one_of_three_is_named_and_two_of_three_name_none():
    assert np.flatnonzero(found_in(*fleet(3, 30, between=0, slow=(1,))).odd).tolist() == [1]
    outcome, codes = fleet(3, 30, between=0, slow=(1,), by=0.2)
    outcome[codes == 2] *= 1.1
    assert not found_in(outcome, codes).odd.any()


def test_of_two_nodes_none_is_the_odd_one():
    found = found_in(*fleet(2, 30, slow=(1,), by=1.0))
    assert np.isnan(found.p_value).all() and not found.odd.any()


def test_ordinary_fleets_are_seldom_accused(draws: Draws):
    for nodes, between_sd in ((4, 0.0), (8, 0.02), (30, 0.02)):
        fleets = [fleet(nodes, 20, between=between_sd, seed=seed) for seed in range(draws(15, 60))]
        accused = sum(found_in(outcome, codes, margin=0.0).odd.any() for outcome, codes in fleets)
        assert accused <= most(len(fleets), 0.05)


def test_more_runs_find_more():
    few, many = (
        sum(
            found_in(*fleet(10, runs, between=0.005, within=0.1, slow=(0,), by=0.1, seed=seed)).odd[0]
            for seed in range(20)
        )
        for runs in (5, 80)
    )
    assert many > few + 10


@settings(deadline=None)
@given(st.integers(3, 12), st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_a_change_of_unit_changes_nothing(nodes, unit, seed):
    outcome, codes = fleet(nodes, 12, slow=(0,), seed=seed)
    before, after = found_in(outcome, codes), found_in(outcome * unit, codes)
    np.testing.assert_allclose(before.deviation, after.deviation, atol=1e-9)
    np.testing.assert_array_equal(before.odd, after.odd)


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(0, 1000))
def test_the_order_of_nodes_changes_nothing_but_the_order(nodes, seed):
    outcome, codes = fleet(nodes, 10, seed=seed)
    mirrored = nodes - 1 - codes
    assert shares(outcome, codes).between == pytest.approx(shares(outcome, mirrored).between, abs=1e-4)
    np.testing.assert_allclose(found_in(outcome, codes).deviation, found_in(outcome, mirrored).deviation[::-1])


def test_the_share_between_nodes_is_what_was_put_in():
    outcome, codes = fleet(200, 20, between=0.03, within=0.03, seed=5)
    found = shares(outcome, codes)
    assert found.between == pytest.approx(0.5, abs=0.08)
    assert found.interval.low < 0.5 < found.interval.high
    assert found.method == "REML"


def test_the_interval_of_the_share_covers():
    covered = 0
    for seed in range(60):
        outcome, codes = fleet(8, 15, between=0.03, within=0.03, seed=seed)
        interval = shares(outcome, codes).interval
        covered += interval.low <= 0.5 <= interval.high
    assert covered >= 50  # 57 are expected


def test_nodes_without_any_difference_have_no_share():
    codes = np.repeat(np.arange(4), 10)
    outcome = np.tile(np.linspace(1, 2, 10), 4)
    assert shares(outcome, codes).between == pytest.approx(0, abs=1e-6)


def test_equal_effects_pool_to_themselves_and_the_inverse_to_the_inverse():
    one = pooled(np.full(5, np.log(0.5)), np.full(5, 0.1))
    assert one.ratio == pytest.approx(0.5) and one.heterogeneity == 0
    ratios, errors = np.log([0.4, 0.5, 0.9, 0.6]), np.array([0.1, 0.2, 0.1, 0.3])
    there, back = pooled(ratios, errors), pooled(-ratios, errors)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.interval.low == pytest.approx(1 / back.interval.high)
    assert there.expected is not None and there.expected.low < there.interval.low


def test_two_nodes_expect_nothing_of_a_third():
    assert pooled(np.log([0.5, 0.6]), np.array([0.1, 0.1])).expected is None


def test_nodes_that_differ_less_than_their_errors_say_are_pooled_as_one() -> None:
    ratios, errors = np.array([-0.0196, -0.0131]), np.array([0.0162, 0.0133])
    found = pooled(ratios, errors)
    assert found.heterogeneity == 0
    assert np.log(found.ratio) == pytest.approx(np.average(ratios, weights=errors**-2))
    assert found.interval.low < found.ratio < found.interval.high


def test_draining_the_slow_node_takes_its_share_of_the_spread():
    outcome, codes = fleet(10, 40, slow=(4,), by=0.5)
    out = np.arange(10) == 4
    found = drained(outcome, codes, out)
    kept = outcome[codes != 4]
    assert found.sd_ratio == pytest.approx(kept.std(ddof=1) / outcome.std(ddof=1))
    assert found.sd_interval.low <= found.sd_ratio <= found.sd_interval.high < 0.6
    assert found.runs_left == 360


def test_a_column_that_follows_the_nodes_is_told_from_one_that_does_not():
    rng = np.random.default_rng(2)
    level = rng.normal(0, 1, 12)
    columns = np.column_stack([rng.normal(0, 1, 12), level**3, np.ones(12)])
    found = between(columns, level, ("noise", "cause", "constant"))
    assert found[0].name == "cause" and found[0].p_value < 0.01
    assert all(one.p_value > 0.05 for one in found[1:])
    assert between(columns[:5], level[:5], ("a", "b", "c")) == ()


def test_what_only_one_node_has_stands_out_there():
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(4), 20)
    values = np.column_stack([rng.normal(5, 1, 80), np.where(codes == 2, 7.0, 0.0)])
    of_nodes = medians(values, codes, 4)
    found = differs(values, codes, of_nodes, 2, ("noise", "throttled"))
    assert [one.name for one in found] == ["throttled"]
    assert (found[0].here, found[0].elsewhere, found[0].distance) == (7.0, 0.0, None)
    assert differs(values, codes, of_nodes, 1, ("noise", "throttled")) == ()


def test_outcomes_at_zero_and_short_nodes_are_refused():
    with pytest.raises(VgoError, match="at or below 0"):
        levels(np.array([0.0, 1.0] * 5), np.repeat([0, 1], 5), ("a", "b"))
    with pytest.raises(VgoError, match="b has 2 runs"):
        levels(np.ones(7), np.array([0, 0, 0, 0, 0, 1, 1]), ("a", "b"))


def test_a_node_that_never_varies_has_no_spread():
    found = levels(np.concatenate([np.full(6, 2.0), np.arange(1.0, 7.0)]), np.repeat([0, 1], 6), ("a", "b"))
    assert np.isnan(found.spread[0]) and np.isfinite(found.spread[1])
