"""From counters to factors: what is set aside, what is one thing, what is more than luck."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from vgo_agent.tools.statistics.association.clusters import collinear
from vgo_agent.tools.statistics.association.factors import Cluster, cluster_factors, consequences, r_squared, usable
from vgo_agent.tools.statistics.association.search import search_p_value
from vgo_agent.tools.statistics.labels.classes import label
from vgo_agent.tools.statistics.ranks import auc
from vgo_agent.tools.statistics.shape.describe import describe
from vgo_agent.tools.statistics.values import BoolArray, FloatArray

steady = settings(max_examples=25, deadline=None, derandomize=True)


def names(columns: FloatArray) -> list[str]:
    return [f"c{place}" for place in range(columns.shape[1])]


def slow_runs(outcome: ArrayLike) -> BoolArray:
    return np.array(label(outcome, describe(outcome)).slow)


def factors(columns: FloatArray, outcome: ArrayLike, seed: int = 0) -> tuple[Cluster, ...]:
    """The whole way that a diagnosis goes."""
    slow = slow_runs(outcome)
    table = usable(columns, names(columns))
    aside = consequences(table.values, table.names, slow, outcome)
    keep = [place for place, name in enumerate(table.names) if name not in aside]
    kept = [table.names[place] for place in keep]
    return cluster_factors(table.values[:, keep], kept, slow, outcome, permutations=500, seed=seed)


def least_p(found: tuple[Cluster, ...]) -> float:
    return min((cluster.p_value for cluster in found), default=1.0)


def two_speeds(rng: np.random.Generator, n: int = 100) -> tuple[FloatArray, BoolArray]:
    """Run times with a slow mode, and whether each run is in it."""
    slow = rng.random(n) < 0.25
    return rng.normal(1, 0.02, n) + 0.4 * slow, slow


@steady
@given(st.integers(0, 10_000), st.integers(3, 40))
def test_the_auc_is_the_share_of_pairs_in_which_the_slow_run_has_more(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, slow = rng.integers(0, 5, n).astype(float), np.arange(n) < n // 2
    pairs = np.sign(x[slow][:, None] - x[~slow][None, :])
    assert auc(x[:, None], slow)[0] == pytest.approx((pairs.mean() + 1) / 2)


def test_columns_that_cannot_speak_are_set_aside_with_the_reason() -> None:
    columns = np.array([[1, np.nan, 5, np.inf], [2, 1, 5, 1], [3, 2, 5, 1.0]])
    table = usable(columns, ["good", "gap", "flat", "endless"])
    assert table.names == ("good",)
    assert table.set_aside["flat"] == "the same in every run"
    assert "1 of 3" in table.set_aside["gap"] and "endless" in table.set_aside


def test_what_grows_with_run_time_is_a_consequence_and_a_cause_is_not() -> None:
    rng = np.random.default_rng(1)
    time, slow = two_speeds(rng)
    ticks = 250 * time * rng.normal(1, 0.02, 100)
    faults = rng.poisson(np.where(slow, 900, 100))
    noise = rng.normal(10, 1, 100)
    aside = consequences(
        np.column_stack([ticks, faults, noise, -faults]), ["ticks", "faults", "noise", "less"], slow, time
    )
    assert set(aside) == {"ticks"} and "run time" in aside["ticks"]


def test_a_gauge_is_not_divided_by_run_time() -> None:
    rng = np.random.default_rng(2)
    time, slow = two_speeds(rng)
    heat = 60 + 3 * slow + rng.normal(size=100)
    assert "heat" in consequences(heat[:, None], ["heat"], slow, time)
    assert consequences(heat[:, None], ["heat"], slow, time, gauges=["heat"]) == {}


def test_duplicates_share_a_cluster_named_by_the_most_actionable() -> None:
    rng = np.random.default_rng(3)
    time, slow = two_speeds(rng)
    x = rng.normal(size=(100, 3))
    columns = np.column_stack([x, 1000 * x[:, 1], -x[:, 1]])
    found = collinear(columns, names(columns), slow, {"c3": 2, "c1": 1})
    assert {cluster.name: cluster.members for cluster in found} == {
        "c0": ("c0",),
        "c3": ("c1", "c3", "c4"),
        "c2": ("c2",),
    }


@steady
@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_copy_of_a_column_lands_in_its_cluster_and_changes_no_other(seed: int, which: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(40, 8))
    slow = np.arange(40) % 2 == 0
    alone = collinear(columns, names(columns), slow)
    doubled = np.column_stack([columns, columns[:, which]])
    together = collinear(doubled, names(doubled), slow)
    assert len(together) == len(alone)
    assert any({f"c{which}", "c8"} <= set(cluster.members) for cluster in together)


def test_unrelated_counters_and_consequences_are_no_cause_more_than_one_time_in_ten() -> None:
    rng = np.random.default_rng(4)
    false = []
    for _ in range(60):
        time = rng.lognormal(0, 0.3, 100)
        columns = rng.lognormal(0, 0.4, (100, 60))
        columns[:, :20] = columns[:, :1] * rng.normal(1, 0.1, (100, 20))
        columns[:, 40:] = time[:, None] * rng.normal(1, 0.05, (100, 20))
        false.append(least_p(factors(columns, time)) < 0.05)
    assert np.mean(false) <= 0.1


def test_counters_that_wander_like_the_run_time_does_are_no_cause() -> None:
    rng = np.random.default_rng(5)
    false = []
    for _ in range(40):
        walk = np.zeros((120, 31))
        for run in range(1, 120):
            walk[run] = 0.7 * walk[run - 1] + rng.normal(size=31)
        columns = np.exp(0.3 * walk)
        false.append(least_p(factors(columns[:, 1:], np.exp(0.1 * walk[:, 0]))) < 0.05)
    assert np.mean(false) <= 0.125


@pytest.mark.parametrize("n", [60, 200])
def test_a_planted_factor_comes_first(n: int) -> None:
    rng = np.random.default_rng(6)
    for seed in range(10):
        time, slow = two_speeds(rng, n)
        columns = rng.lognormal(0, 0.4, (n, 60))
        columns[:, 40:] = time[:, None] * rng.normal(1, 0.05, (n, 20))
        columns[:, 7] = rng.poisson(np.where(slow, 30, 5))
        first = factors(columns, time, seed=seed)[0]
        assert (first.name, first.direction) == ("c7", "more")
        assert first.p_value < 0.01 and first.stability > 0.95 and first.importance > 0.2
        assert first.auc > 0.95 and first.auc_per_second is not None and first.auc_per_second > 0.9


def test_a_factor_that_slow_runs_lack_is_found_as_well() -> None:
    rng = np.random.default_rng(7)
    time, slow = two_speeds(rng)
    columns = rng.lognormal(0, 0.4, (100, 20))
    columns[:, 3] = rng.poisson(np.where(slow, 5, 30))
    first = factors(columns, time)[0]
    assert (first.name, first.direction) == ("c3", "less") and first.p_value < 0.01


def test_a_factor_that_comes_in_spells_is_still_found() -> None:
    rng = np.random.default_rng(8)
    slow = np.repeat(rng.permutation([True] * 4 + [False] * 6), 20)
    time = rng.normal(1, 0.02, 200) + 0.3 * slow
    columns = rng.lognormal(0, 0.4, (200, 30))
    columns[:, 3] = rng.poisson(np.where(slow, 30, 5))
    first = factors(columns, time)[0]
    assert first.name == "c3" and first.p_value < 0.05


@steady
@given(st.integers(0, 1000), st.sampled_from([1e-3, 1e3, 2.0**40]))
def test_units_of_counters_and_time_change_nothing(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    time = rng.lognormal(0, 0.3, 50)
    columns = rng.normal(10, 1, (50, 6))
    slow = slow_runs(time)
    one = cluster_factors(columns, names(columns), slow, time, permutations=200)
    other = cluster_factors(columns * unit, names(columns), slow, time * 1000, permutations=200)
    assert one == other


@steady
@given(st.integers(0, 1000))
def test_swapping_slow_and_fast_leaves_the_p_value_and_mirrors_the_auc(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, slow = rng.normal(size=(40, 5)), rng.permutation(np.arange(40) < 15)
    groups = [[0, 1], [2], [3, 4]]
    one, other = (search_p_value(columns, mask, groups, 200, seed) for mask in (slow, ~slow))
    assert one.statistics == pytest.approx(other.statistics)
    assert auc(columns, slow) == pytest.approx(1 - auc(columns, ~slow))


@steady
@given(st.integers(0, 1000))
def test_looking_at_more_columns_never_makes_a_finding_surer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, slow = rng.normal(size=(40, 8)), rng.permutation(np.arange(40) < 15)
    few = search_p_value(columns[:, :3], slow, [[0], [1], [2]], 200, seed)
    many = search_p_value(columns, slow, [[place] for place in range(8)], 200, seed)
    assert all(p <= q for p, q in zip(few.p_values, many.p_values, strict=False))


def test_nothing_to_look_at_is_no_finding() -> None:
    slow = np.arange(20) < 8
    assert cluster_factors(np.empty((20, 0)), [], slow, np.ones(20)) == ()
    one_class = cluster_factors(np.arange(20.0)[:, None], ["x"], np.zeros(20, bool), np.ones(20))
    assert one_class[0].p_value == 1.0 and one_class[0].auc == 0.5
    two_runs = cluster_factors(np.array([[1.0], [2.0]]), ["x"], [False, True], [1.0, 2.0])
    assert two_runs[0].p_value > 0.3


def test_the_same_seed_gives_the_same_answer() -> None:
    rng = np.random.default_rng(9)
    columns, time = rng.normal(10, 1, (60, 12)), rng.lognormal(0, 0.3, 60)
    assert factors(columns, time, seed=3) == factors(columns, time, seed=3)


def test_a_straight_line_explains_all_and_a_constant_nothing() -> None:
    x = np.arange(10.0)
    assert r_squared(x, 3 - 2 * x) == pytest.approx(1)
    assert r_squared(x, np.ones(10)) is None
