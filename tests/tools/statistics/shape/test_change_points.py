"""Where the level of a series shifts."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.shape.change_points import LEAST_SEGMENT, segmented, shifts
from vgo_agent.tools.statistics.shape.describe import describe
from vgo_agent.tools.statistics.values import FloatArray

from ...conftest import Draws

Law = Callable[[np.random.Generator], FloatArray]
steady = settings(deadline=None, derandomize=True)


@pytest.mark.parametrize(
    "law",
    [
        lambda rng: rng.normal(size=30),
        lambda rng: rng.lognormal(0, 1, 100),
        lambda rng: rng.normal(size=400),
        lambda rng: np.round(rng.normal(size=100)),
        lambda rng: 1.0 * (rng.random(100) < 0.03),
        lambda rng: rng.normal(size=5000),
    ],
    ids=["30", "lognormal", "400", "rounded", "rare", "in blocks"],
)
def test_independent_runs_show_a_shift_at_most_once_in_thirty(law: Law, draws: Draws) -> None:
    rng = np.random.default_rng(1)
    assert np.mean([bool(shifts(law(rng))) for _ in range(draws(40, 200))]) <= 0.03


def test_neighbours_that_resemble_each_other_seldom_look_like_shifts() -> None:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(100):
        series = rng.normal(size=150)
        for run in range(1, 150):
            series[run] += 0.6 * series[run - 1]
        found.append(bool(shifts(series[50:])))
    assert np.mean(found) <= 0.12


def test_a_step_of_one_and_a_half_sds_is_found_where_it_is() -> None:
    rng = np.random.default_rng(3)
    found = [shifts(rng.normal(size=100) + 1.5 * (np.arange(100) >= 60)) for _ in range(100)]
    assert np.mean([len(places) == 1 and abs(places[0] - 60) <= 5 for places in found]) > 0.85


def test_levels_before_and_after_are_medians() -> None:
    rng = np.random.default_rng(4)
    shape = describe(np.concatenate([rng.normal(10, 0.5, 120), rng.normal(14, 0.5, 60), rng.normal(11, 0.5, 80)]))
    assert [point.run for point in shape.change_points] == [120, 180]
    assert [point.before for point in shape.change_points] == pytest.approx([10, 14], abs=0.2)
    assert [point.after for point in shape.change_points] == pytest.approx([14, 11], abs=0.2)
    assert shape.drift and shape.shifts == 2


def test_of_many_shifts_the_twenty_greatest_are_shown() -> None:
    rng = np.random.default_rng(5)
    levels = np.repeat(np.where(np.arange(40) % 2, 0.0, 3.0 + np.arange(40) / 10), 50)
    shape = describe(levels + 0.3 * rng.normal(size=2000))
    assert shape.shifts > 20 == len(shape.change_points)
    assert min(point.run for point in shape.change_points) >= 900


def test_a_small_shift_of_very_many_runs_is_not_worth_a_word() -> None:
    rng = np.random.default_rng(6)
    late = np.arange(100_000) >= 50_000
    assert shifts(rng.normal(size=100_000) + 0.2 * late) == []
    assert shifts(rng.normal(size=100_000) + 2.0 * late) == [50_000]


@pytest.mark.parametrize(
    "law",
    [
        lambda rng: 0.01 * rng.normal(size=500) + 0.015 * (np.arange(500) > 250) + 9 * (rng.random(500) < 0.05),
        lambda rng: rng.normal(size=8000) + 6 * (np.arange(8000) // 40 == 100),
    ],
    ids=["beside rare runs far out", "forty of eight thousand"],
)
def test_a_shift_that_is_sure_and_makes_no_spread_is_no_drift(law: Law) -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        shape = describe(law(rng))
        assert shape.shifts and not shape.drift


def test_a_missing_run_keeps_its_place_in_the_count() -> None:
    rng = np.random.default_rng(7)
    runs = rng.normal(size=100) + 6 * (np.arange(100) >= 50)
    runs[10] = np.nan
    assert describe(runs).change_points[0].run == 50


def test_effective_runs_fall_with_dependence() -> None:
    rng = np.random.default_rng(8)
    noise = rng.normal(size=2000)
    spells = noise.copy()
    for run in range(1, 2000):
        spells[run] += 0.8 * spells[run - 1]
    free, bound = describe(noise).effective_runs, describe(spells).effective_runs
    assert free is not None and free > 1500
    assert bound is not None and 2000 / 20 < bound < 2000 / 5  # (1 + r) / (1 - r) is 9


def _price(means: FloatArray, places: tuple[int, ...], penalty: float) -> float:
    parts = np.split(means, places)
    return sum(float(((part - part.mean()) ** 2).sum()) for part in parts) + penalty * len(places)


@steady
@given(st.lists(st.floats(-10, 10), min_size=LEAST_SEGMENT, max_size=12), st.floats(0.01, 20))
def test_no_other_segments_cost_less(values: list[float], penalty: float) -> None:
    means = np.array(values)
    every = (places for count in range(4) for places in itertools.combinations(range(means.size), count))
    legal = [one for one in every if min(np.diff((0, *one, means.size))) >= LEAST_SEGMENT]
    found = tuple(segmented(means, penalty))
    assert found in legal
    assert _price(means, found, penalty) == pytest.approx(min(_price(means, one, penalty) for one in legal), abs=1e-9)


@steady
@given(st.integers(0, 1000), st.integers(2, 5))
def test_where_runs_are_made_backwards_the_shifts_are_the_same(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.normal(size=40 * levels) + np.repeat(4.0 * np.arange(levels), 40)
    assert shifts(runs[::-1]) == [runs.size - place for place in reversed(shifts(runs))]


@steady
@given(st.integers(0, 1000), st.sampled_from([1e-9, 1.0, 1e6]), st.floats(0, 1e3))
def test_the_unit_moves_no_shift(seed: int, unit: float, origin: float) -> None:
    runs = np.random.default_rng(seed).normal(size=90) + 2 * (np.arange(90) > 40)
    assert shifts(runs) == shifts(origin + unit * np.round(runs, 3) if origin == 0 else runs * unit)
