"""From counters to factors: what is found, what is set aside, and which changes of the data change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.association.factors import Association, Columns, associate
from vgo_agent.tools.statistics.values import BoolArray, FloatArray, auc, r_squared

from ...conftest import Draws

steady = settings(deadline=None, derandomize=True)


def named(values: FloatArray, **what) -> Columns:
    return Columns(tuple(f"c{place}" for place in range(values.shape[1])), values, **what)


def two_speeds(rng: np.random.Generator, n: int = 100) -> tuple[FloatArray, BoolArray]:
    """Run times with a slow mode, and whether each run is in it."""
    slow = rng.random(n) < 0.25
    return rng.normal(1, 0.02, n) + 0.4 * slow, slow


def counters(rng: np.random.Generator, time: FloatArray, p: int = 30) -> FloatArray:
    """Unrelated counters; the last third follows the run time."""
    columns = rng.lognormal(0, 0.4, (time.size, p))
    columns[:, -(p // 3) :] = time[:, None] * rng.normal(1, 0.05, (time.size, p // 3))
    return columns


def p_values(found: Association) -> dict[str, float]:
    return {factor.name: factor.p_value for factor in found.factors}


@steady
@given(st.integers(0, 10_000), st.integers(3, 40))
def test_the_auc_is_the_share_of_pairs_in_which_the_slow_run_has_more(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, slow = rng.integers(0, 5, n).astype(float), np.arange(n) < n // 2
    pairs = np.sign(x[slow][:, None] - x[~slow][None, :])
    assert auc(x[:, None], slow)[0] == pytest.approx((pairs.mean() + 1) / 2)


def test_the_auc_of_classes_in_perfect_order_is_one() -> None:
    classes = np.repeat([0, 1, 2], 10)
    assert auc(np.arange(30.0)[:, None], classes)[0] == pytest.approx(1)
    assert auc(classes[::-1, None].astype(float), classes)[0] == pytest.approx(0)


@pytest.mark.parametrize("n", [60, 200])
def test_a_planted_factor_comes_first(n: int) -> None:
    rng = np.random.default_rng(6)
    for seed in range(8):
        time, slow = two_speeds(rng, n)
        columns = counters(rng, time)
        columns[:, 7] = rng.poisson(np.where(slow, 30, 5))
        found = associate(named(columns), slow, time, per=time, permutations=500, seed=seed)
        first = found.factors[0]
        assert (first.name, first.direction, first.role) == ("c7", "more", "factor")
        assert first.visible and first.independent and first.p_value < 0.01
        assert first.stability is not None and first.stability > 0.95
        assert first.importance is not None and first.importance > 0.2
        if found.block == 1:
            assert first.importance_low is not None and first.importance_high is not None
            assert 0.1 < first.importance_low < first.importance < first.importance_high
            assert first.auc_low is not None and 0.6 < first.auc_low < first.auc
        assert first.auc_per_unit is not None and first.auc_per_unit > 0.9
        assert first.slow_median > 20 > first.fast_median
        assert any("follows the outcome" in why for why in found.set_aside.values())


def test_a_factor_that_slow_runs_lack_is_found_as_well() -> None:
    rng = np.random.default_rng(7)
    time, slow = two_speeds(rng)
    columns = counters(rng, time)
    columns[:, 3] = rng.poisson(np.where(slow, 5, 30))
    first = associate(named(columns), slow, time, per=time, permutations=500).factors[0]
    assert (first.name, first.direction) == ("c3", "less") and first.p_value < 0.01


def test_a_weak_factor_is_found_about_as_often_as_by_one_test_of_known_labels() -> None:
    """AUC .7 among 60 columns, n = 200: the trend that is taken out may cost a little, and no more."""
    rng = np.random.default_rng(8)
    found = {True: 0, False: 0}
    for seed in range(20):
        slow = rng.random(200) < 0.5
        columns = rng.normal(size=(200, 60))
        columns[:, 5] += 0.75 * slow
        for ordered in found:
            answer = associate(
                named(columns), slow, slow + 1.0, per=None, ordered=ordered, permutations=300, seed=seed, explain=False
            )
            found[ordered] += p_values(answer)["c5"] <= 0.05
    assert found[True] >= 15 and found[False] - found[True] <= 2


def test_a_factor_that_comes_in_spells_is_still_found() -> None:
    rng = np.random.default_rng(8)
    slow = np.repeat(rng.permutation([True] * 4 + [False] * 6), 20)
    time = rng.normal(1, 0.02, 200) + 0.3 * slow
    columns = counters(rng, time)
    columns[:, 3] = rng.poisson(np.where(slow, 30, 5))
    found = associate(named(columns), slow, time, per=time, permutations=500)
    assert found.block > 1
    first = found.factors[0]
    assert first.name == "c3" and first.p_value < 0.05
    assert first.auc_low is None and first.importance_low is None, "no interval for runs that depend on each other"


def test_columns_that_wander_like_the_outcome_are_set_aside_with_both_numbers() -> None:
    rng = np.random.default_rng(9)
    trend = np.linspace(0, 3, 200)
    time = np.exp(0.1 * (trend + rng.normal(size=200)))
    slow = time > np.median(time)
    columns = rng.normal(size=(200, 10))
    columns[:, 4] = trend + rng.normal(size=200)
    heat = named(columns, levels=frozenset({"c4"}))
    found = associate(heat, slow, time, per=time, permutations=500)
    assert "drifts with run order" in found.set_aside["c4"] and found.set_aside["c4"].count("0.") == 2
    assert not any(factor.visible for factor in found.factors)
    unordered = associate(heat, slow, time, per=time, ordered=False, permutations=500)
    assert unordered.factors[0].name == "c4" and unordered.factors[0].visible


def test_a_cause_behind_a_drifting_outcome_is_found() -> None:
    rng = np.random.default_rng(10)
    columns = rng.normal(size=(200, 20))
    time = np.exp(0.1 * (np.linspace(0, 2, 200) + 1.5 * columns[:, 2] + rng.normal(size=200)))
    found = associate(named(columns), time > np.median(time), time, per=None, permutations=500)
    assert found.factors[0].name == "c2" and found.factors[0].visible


def test_work_counters_of_a_throughput_are_set_aside_and_its_brakes_are_not() -> None:
    rng = np.random.default_rng(11)
    brake = rng.random(150) < 0.3
    rate = np.where(brake, 600.0, 1000.0) * rng.normal(1, 0.03, 150)
    columns = np.column_stack([rate * 4 * rng.normal(1, 0.02, 150), rng.poisson(np.where(brake, 80, 20))])
    found = associate(named(columns), rate < 800, rate, per=rate, permutations=500)
    assert list(found.set_aside) == ["c0"]
    assert found.factors[0].name == "c1" and found.factors[0].direction == "more"


def test_each_of_several_divisors_must_leave_the_link() -> None:
    """Work done at a fixed amount of work: ticks go with the time, which is one over the throughput."""
    rng = np.random.default_rng(12)
    rate = rng.lognormal(0, 0.3, 200)
    ticks = 1 / rate * rng.normal(1, 0.02, 200)
    one = associate(named(ticks[:, None]), rate < 1, rate, per=rate, permutations=300)
    assert one.factors[0].visible
    both = associate(
        named(ticks[:, None]), rate < 1, rate, per=np.column_stack((rate, 1 / rate)), per_name=("work", "time")
    )
    assert both.factors == () and "follows time" in both.set_aside["c0"]


def test_a_divisor_that_is_not_positive_is_named() -> None:
    rng = np.random.default_rng(13)
    found = associate(named(rng.normal(size=(40, 3))), np.arange(40) % 2, np.ones(40), per=rng.normal(size=40))
    assert "not divided by the outcome" in found.warnings[0]


def test_a_categorical_setting_is_one_factor_with_its_share_of_the_variance() -> None:
    rng = np.random.default_rng(14)
    host = rng.integers(0, 3, 150)
    time = np.array([1.0, 1.0, 1.5])[host] * rng.lognormal(0, 0.05, 150)
    values = np.column_stack([*(host == number for number in range(3)), rng.normal(size=(150, 5))])
    hosts = ("host=a", "host=b", "host=c")
    columns = Columns((*hosts, *"vwxyz"), values.astype(float), groups={"host": hosts}, settings=frozenset({"host"}))
    first = associate(columns, time > 1.2, time, per=time, permutations=500).factors[0]
    assert (first.name, first.column, first.role, first.members) == ("host", "host=c", "setting", hosts)
    assert first.auc_per_unit is None and first.eta2 is not None and first.eta2_log is not None
    assert first.eta2 > 0.9 and first.eta2_log > 0.9


@pytest.mark.parametrize("turn", [1, 30])
def test_a_setting_is_found_whether_it_was_varied_in_turns_or_in_blocks(turn: int) -> None:
    rng = np.random.default_rng(22)
    setting = np.repeat(np.arange(120 // turn), turn) % 2
    time = (1 + 0.5 * setting) * rng.lognormal(0, 0.1, 120)
    values = np.column_stack([setting.astype(float), rng.normal(size=(120, 10))])
    found = associate(named(values, settings=frozenset({"c0"})), time > 1.25, time, per=time, permutations=500)
    assert found.block == 1 and found.factors[0].name == "c0" and found.factors[0].visible


def test_of_two_visible_factors_the_shadow_of_the_first_is_told_from_a_second_cause() -> None:
    rng = np.random.default_rng(15)
    cause, other = rng.normal(size=(2, 300))
    shadow = cause + 0.7 * rng.normal(size=300)
    time = np.exp(0.1 * (1.5 * cause + other + 0.5 * rng.normal(size=300)))
    columns = named(np.column_stack([shadow, cause, other, rng.normal(size=(300, 10))]))
    found = {factor.name: factor for factor in associate(columns, time > np.median(time), time, per=None).factors}
    assert all(found[name].visible for name in ("c0", "c1", "c2"))
    assert (found["c1"].independent, found["c2"].independent, found["c0"].independent) == (True, True, False)


def test_two_columns_that_only_work_together_are_named_as_a_pair() -> None:
    rng = np.random.default_rng(16)
    columns = rng.normal(size=(200, 12))
    either = (columns[:, 2] > 0) != (columns[:, 5] > 0)
    time = 1 + 0.5 * either + rng.normal(0, 0.15, 200)
    found = associate(named(columns), time > 1.25, time, per=None)
    assert not any(factor.visible for factor in found.factors) and found.p_value <= 0.05
    pair = found.interactions[0]
    assert (pair.first, pair.second, pair.together) == ("c2", "c5", "unlike")
    assert max(pair.slow_shares[0], pair.slow_shares[3]) < 0.3 < 0.6 < min(pair.slow_shares[1:3])
    assert sum(pair.runs) == 200


def test_a_pair_that_needs_both_is_named_beside_its_factors() -> None:
    rng = np.random.default_rng(17)
    columns = rng.normal(size=(300, 10))
    both = (columns[:, 1] > 0) & (columns[:, 4] > 0)
    time = 1 + 0.5 * both + rng.normal(0, 0.1, 300)
    found = associate(named(columns), time > 1.25, time, per=None)
    assert {factor.name for factor in found.factors if factor.visible} == {"c1", "c4"}
    assert [(pair.first, pair.second, pair.together) for pair in found.interactions] == [("c1", "c4", "alike")]


def test_two_signs_of_one_cause_are_no_interaction() -> None:
    rng = np.random.default_rng(18)
    for _ in range(5):
        slow = rng.random(300) < 0.3
        columns = rng.normal(size=(300, 10))
        columns[:, 1] += 2 * slow
        columns[:, 2] += 2 * slow
        assert associate(named(columns), slow, slow + 1.0, per=None).interactions == ()


def test_several_ordered_classes_are_searched_at_once() -> None:
    rng = np.random.default_rng(19)
    columns = rng.normal(size=(150, 20))
    time = np.exp(0.2 * columns[:, 6] + 0.2 * rng.normal(size=150))
    thirds = np.searchsorted(np.quantile(time, [1 / 3, 2 / 3]), time)
    first = associate(named(columns), thirds, time, per=None, permutations=500).factors[0]
    assert first.name == "c6" and first.visible and first.auc > 0.7
    assert first.auc_low is None, "no interval that was not simulated"


def test_thousands_of_columns_of_fifty_runs_are_searched(draws: Draws) -> None:
    rng, many = np.random.default_rng(20), draws(2000, 10_000)
    slow = rng.random(50) < 0.5
    columns = rng.normal(size=(50, many))
    columns[:, 123] += 6 * slow
    found = associate(named(columns), slow, slow + 1.0, per=None, permutations=200, explain=False)
    assert found.factors[0].name == "c123" and found.factors[0].visible
    assert found.clusters == many


def test_pairs_that_were_left_out_are_said() -> None:
    rng = np.random.default_rng(23)
    found = associate(named(rng.normal(size=(60, 70))), rng.random(60) < 0.5, np.ones(60), per=None, permutations=50)
    assert found.pairs == 64 * 63 / 2 and "64 of 70 clusters" in found.warnings[-1]


def test_a_large_table_says_what_was_sampled() -> None:
    rng = np.random.default_rng(21)
    slow = rng.random(20_000) < 0.3
    columns = rng.normal(size=(20_000, 120))
    columns[:, 5] += 0.2 * slow
    found = associate(named(columns), slow, slow + 1.0, per=None, permutations=50)
    assert found.factors[0].name == "c5" and found.sampled is not None and found.sampled < 20_000
    assert f"{found.sampled:,} of 20,000 runs" in found.warnings[0]


def test_nothing_to_look_at_is_no_finding() -> None:
    slow = np.arange(20) < 8
    none = associate(named(np.empty((20, 0))), slow, np.ones(20), per=np.ones(20))
    assert none.factors == () and none.p_value == 1.0
    one_class = associate(named(np.arange(20.0)[:, None]), np.zeros(20, bool), np.ones(20), per=None)
    assert one_class.factors[0].p_value == 1.0 and one_class.factors[0].auc == 0.5
    two_runs = associate(named(np.array([[1.0], [2.0]])), [False, True], [1.0, 2.0], per=[1.0, 2.0])
    assert two_runs.p_value > 0.3
    same = associate(named(np.arange(20.0)[:, None]), slow, np.ones(20), per=None, ordered=False)
    assert same.factors[0].r2 is None


def drawn(seed: int, n: int = 50, p: int = 6) -> tuple[FloatArray, FloatArray, BoolArray]:
    rng = np.random.default_rng(seed)
    time = rng.lognormal(0, 0.3, n)
    columns = rng.normal(10, 1, (n, p))
    columns[:, 1] += (seed % 3) * time
    return columns, time, time > np.median(time)


@steady
@given(st.integers(0, 1000), st.sampled_from([1e-3, 1e3, 2.0**40]))
def test_units_of_columns_and_outcome_change_no_link(seed: int, unit: float) -> None:
    columns, time, slow = drawn(seed)
    one = associate(named(columns), slow, time, per=time, permutations=200, explain=False)
    other = associate(named(columns * unit), slow, time * 1024, per=time * 1024, permutations=200, explain=False)
    assert p_values(one) == p_values(other) and one.set_aside == other.set_aside
    assert [factor.auc for factor in one.factors] == [factor.auc for factor in other.factors]


@steady
@given(st.integers(0, 1000))
def test_the_order_of_the_columns_changes_nothing(seed: int) -> None:
    columns, time, slow = drawn(seed)
    names = tuple("abcdef")
    one = associate(Columns(names, columns), slow, time, per=time, permutations=100, explain=False)
    other = associate(Columns(names[::-1], columns[:, ::-1]), slow, time, per=time, permutations=100, explain=False)
    assert p_values(one) == p_values(other) and one.p_value == other.p_value
    assert one.set_aside == other.set_aside


@steady
@given(st.integers(0, 1000), st.integers(0, 5))
def test_a_second_copy_of_a_column_joins_its_cluster_and_changes_no_p_value(seed: int, which: int) -> None:
    columns, time, slow = drawn(seed)
    one = associate(named(columns), slow, time, per=time, permutations=100, explain=False)
    other = associate(
        named(np.column_stack([columns, columns[:, which]])), slow, time, per=time, permutations=100, explain=False
    )
    assert sorted(p_values(one).values()) == sorted(p_values(other).values()) and one.p_value == other.p_value
    joined = [factor.members for factor in other.factors if "c6" in factor.members]
    assert joined == [(f"c{which}", "c6")] or {"c6", f"c{which}"} <= set(other.set_aside)


@steady
@given(st.integers(0, 1000))
def test_swapping_slow_and_fast_mirrors_the_auc_and_keeps_the_p_values(seed: int) -> None:
    columns, _, slow = drawn(seed)
    one = associate(named(columns), slow, slow + 1.0, per=None, permutations=100, explain=False)
    other = associate(named(columns), ~slow, slow + 1.0, per=None, permutations=100, explain=False)
    mirrored = {factor.name: 1 - factor.auc for factor in other.factors}
    assert {factor.name: factor.auc for factor in one.factors} == pytest.approx(mirrored)
    assert one.p_value == pytest.approx(other.p_value, abs=0.1), "other draws of the same null"


@steady
@given(st.integers(0, 1000))
def test_a_throughput_is_the_mirror_image_of_a_time(seed: int) -> None:
    """Slow runs take long, or do little: what is set aside in one is set aside in the other."""
    columns, time, slow = drawn(seed)
    columns = np.column_stack([columns, 5 * time])
    done = 1 / time
    work = np.column_stack([columns[:, :6], 5 * done])
    as_time = associate(named(columns), slow, time, per=time, permutations=100, explain=False)
    as_work = associate(named(work), slow, done, per=done, permutations=100, explain=False)
    assert "c6" in as_time.set_aside and "c6" in as_work.set_aside


@steady
@given(st.integers(0, 1000))
def test_a_monotone_change_of_levels_changes_no_p_value(seed: int) -> None:
    columns, time, slow = drawn(seed)
    levels = frozenset(f"c{place}" for place in range(6))
    one = associate(named(columns, levels=levels), slow, time, per=time, permutations=200, explain=False)
    other = associate(named(np.exp(columns), levels=levels), slow, time, per=time, permutations=200, explain=False)
    assert p_values(one) == p_values(other) and one.p_value == other.p_value


@steady
@given(st.integers(0, 1000))
def test_looking_at_more_columns_never_makes_a_finding_surer(seed: int) -> None:
    columns, _, slow = drawn(seed, p=8)
    few = associate(named(columns[:, :3]), slow, slow + 1.0, per=None, permutations=200, explain=False)
    many = associate(named(columns), slow, slow + 1.0, per=None, permutations=200, explain=False)
    assert all(p <= p_values(many)[name] for name, p in p_values(few).items())


def test_the_same_seed_gives_the_same_answer() -> None:
    columns, time, slow = drawn(3, n=60, p=12)
    answers = [associate(named(columns), slow, time, per=time, permutations=200, seed=3) for _ in range(2)]
    assert answers[0] == answers[1]


def test_an_answer_survives_the_transcript() -> None:
    columns, time, slow = drawn(5)
    found = associate(named(columns), slow, time, per=time, permutations=100)
    assert Association.model_validate_json(found.model_dump_json()) == found


def test_a_straight_line_explains_all_and_a_constant_nothing() -> None:
    x = np.arange(10.0)
    assert r_squared(x, 3 - 2 * x) == pytest.approx(1)
    assert r_squared(x, np.ones(10)) is None
