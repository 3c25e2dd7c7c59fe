"""Modes, tails, warm-up, drift, the grain of the clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.shape.describe import block_length, describe, lag1, warm_up_length
from vgo_agent.tools.statistics.values import FloatArray

from ...conftest import Draws

Law = Callable[[np.random.Generator], FloatArray]
steady = settings(deadline=None, derandomize=True)


def share_with_modes(law: Law, seed: int, draws: int) -> float:
    rng = np.random.default_rng(seed)
    return float(np.mean([len(describe(law(rng)).modes) > 1 for _ in range(draws)]))


@pytest.mark.parametrize(
    "law",
    [
        lambda rng: rng.normal(size=60),
        lambda rng: rng.normal(size=200),
        lambda rng: rng.lognormal(0, 0.5, 100),
        lambda rng: -rng.lognormal(0, 1.0, 100),
        lambda rng: rng.gamma(2, size=100),
        lambda rng: np.round(3 * rng.normal(size=100)),
        lambda rng: np.round(1.2 * rng.normal(size=100)),
        lambda rng: rng.random(60),
        lambda rng: rng.random(400),
        lambda rng: rng.random(400) + 0.3 * rng.random(400),
        lambda rng: rng.beta(2, 2, 400),
    ],
    ids=[
        "normal 60",
        "normal 200",
        "lognormal",
        "mirrored lognormal",
        "gamma",
        "clock of SD / 3",
        "clock of SD / 1.2",
        "flat 60",
        "flat 400",
        "flat with soft edges",
        "beta",
    ],
)
@pytest.mark.cells(5)
def test_one_hump_is_called_two_at_most_once_in_twenty(law: Law, draws: Draws) -> None:
    assert share_with_modes(law, 10, draws(20, 100)) <= 0.05


@pytest.mark.parametrize(("weight", "distance", "least"), [(0.5, 4, 0.8), (0.15, 8, 0.95)])
def test_two_humps_are_found(weight: float, distance: float, least: float, draws: Draws) -> None:
    law = lambda rng: rng.normal(size=100) + distance * (rng.random(100) < weight)  # noqa: E731
    assert share_with_modes(law, 11, draws(20, 100)) >= least


def test_three_humps_have_three_weights_and_positions() -> None:
    rng = np.random.default_rng(12)
    shape = describe(rng.permutation(np.concatenate([rng.normal(place, 0.1, 50) for place in (1, 3, 6)])))
    assert [mode.position for mode in shape.modes] == pytest.approx([1, 3, 6], abs=0.1)
    assert [mode.weight for mode in shape.modes] == pytest.approx([1 / 3] * 3)
    assert shape.valley is not None


def test_a_heavy_tail_is_seen_on_its_own_side(draws: Draws) -> None:
    rng = np.random.default_rng(13)
    right = [describe(rng.lognormal(0, 1, 100)) for _ in range(draws(15, 40))]
    assert np.mean([shape.right_tail for shape in right]) > 0.9
    assert not any(shape.left_tail for shape in right)
    normal = [describe(rng.normal(size=100)) for _ in range(draws(20, 100))]
    assert np.mean([shape.right_tail for shape in normal]) <= 0.05


@pytest.mark.parametrize("n", [30, 60, 200])
def test_steady_noise_has_no_warm_up(n: int, draws: Draws) -> None:
    rng = np.random.default_rng(14)
    laws = (
        lambda: rng.normal(size=n),
        lambda: rng.lognormal(0, 0.5, n),
        lambda: rng.normal(size=n) + 8 * (rng.random(n) < 0.15),
        lambda: np.round(rng.normal(size=n)),
    )
    for law in laws:
        assert np.mean([warm_up_length(law()) > 0 for _ in range(draws(100, 200))]) <= 0.05


def test_a_cold_first_run_is_warm_up() -> None:
    rng = np.random.default_rng(15)
    for n in (30, 60):
        runs = rng.normal(1, 0.02, n)
        runs[0] = 2.0
        shape = describe(runs)
        assert (shape.warm_up, shape.n) == (1, n - 1)


def test_a_slow_first_tenth_is_found_to_within_four_runs() -> None:
    rng = np.random.default_rng(16)
    lengths = [warm_up_length(np.where(np.arange(100) < 10, 4.0, 0.0) + rng.normal(size=100)) for _ in range(50)]
    assert np.mean(np.abs(np.array(lengths) - 10) <= 4) > 0.9


def test_a_trend_is_drift_and_not_warm_up() -> None:
    rng = np.random.default_rng(17)
    shapes = [describe(np.linspace(0, 4, 100) + rng.normal(size=100)) for _ in range(20)]
    assert all(shape.drift and shape.warm_up == 0 for shape in shapes)


def test_spells_of_slowness_are_permuted_in_blocks() -> None:
    rng = np.random.default_rng(18)
    spells = np.repeat(rng.random(10) < 0.5, 20)
    assert block_length(spells) > 5
    assert block_length(np.arange(100) % 2) == 1
    assert block_length([True] * 20) == 1


def test_neighbours_that_alternate_are_anticorrelated() -> None:
    assert lag1(np.arange(50) % 2) == pytest.approx(-1, abs=0.05)
    assert lag1([1.0] * 10) is None


def test_a_clock_as_coarse_as_the_spread_is_named_and_no_modes_are_read_from_it() -> None:
    runs = np.round(np.random.default_rng(19).normal(1, 0.003, 100), 2)
    shape = describe(runs)
    assert shape.clock_too_coarse and len(shape.modes) == 1
    assert shape.resolution == pytest.approx(0.01)


def test_rows_that_stand_in_the_table_three_times_are_no_clock() -> None:
    rng = np.random.default_rng(21)
    for _ in range(20):
        once = rng.lognormal(6, 0.3, 40)
        shape = describe(rng.permutation(np.repeat(once, 3)))
        assert shape.resolution is None and not shape.clock_too_coarse


def test_a_clock_whose_step_is_no_round_number_is_still_named() -> None:
    ticks = np.random.default_rng(22).integers(100, 160, 200)
    assert describe(np.round(ticks * 125 / 3)).resolution == pytest.approx(125 / 3, rel=0.03)


def test_a_fine_clock_shows_no_step() -> None:
    shape = describe(np.random.default_rng(20).normal(size=100))
    assert shape.resolution is None and not shape.clock_too_coarse


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [3.0] * 40, [np.nan, np.inf, 1.0, 2.0, 3.0]])
def test_few_equal_or_missing_values_still_have_a_shape(values: list[float]) -> None:
    shape = describe(values)
    assert shape.valley is None and not shape.drift
    assert shape.all_equal == (len({v for v in values if np.isfinite(v)}) < 2)


@steady
@given(st.integers(0, 1000), st.sampled_from([1e-6, 1e-3, 1e3, 1e9]))
def test_the_unit_of_time_changes_no_finding(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.lognormal(0, 0.3, 80) + 5 * (rng.random(80) < 0.2)
    one, other = describe(runs), describe(runs * unit)
    same = ("n", "right_tail", "left_tail", "drift", "warm_up", "lag1", "clock_too_coarse", "all_equal", "shifts")
    assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same]
    assert [mode.weight for mode in one.modes] == [mode.weight for mode in other.modes]
    assert one.outliers.places == other.outliers.places
    assert [mode.position * unit for mode in one.modes] == pytest.approx([mode.position for mode in other.modes])


@steady
@given(st.integers(0, 1000))
def test_the_mirror_image_has_the_mirrored_shape(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.lognormal(0, 0.5, 80)
    one, other = describe(runs), describe(-runs)
    assert (one.right_tail, one.left_tail, one.warm_up) == (other.left_tail, other.right_tail, other.warm_up)
    assert len(one.modes) == len(other.modes)
    assert one.outliers.places == other.outliers.places
    assert (one.right_weight, one.left_weight) == (other.left_weight, other.right_weight)
    assert [point.run for point in one.change_points] == [point.run for point in other.change_points]


@steady
@given(st.integers(0, 1000))
def test_without_an_order_nothing_depends_on_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = np.sort(rng.lognormal(0, 0.5, 80) + 5 * (rng.random(80) < 0.2))
    one, other = describe(runs, ordered=False), describe(rng.permutation(runs), ordered=False)
    assert (one.warm_up, one.drift, one.change_points, one.lag1, one.effective_runs) == (0, False, (), None, None)
    places = {"outliers": one.outliers.model_copy(update={"places": (), "values": ()})}
    shown = {"outliers": other.outliers.model_copy(update={"places": (), "values": ()})}
    assert one.model_copy(update=places) == other.model_copy(update=shown)


def test_a_few_wild_runs_do_not_hide_two_modes() -> None:
    """As recorded: a lottery of two layouts at 14 and 21 ms, and four of 300 runs that something else held up."""
    rng = np.random.default_rng(3)
    two = np.concatenate([rng.normal(14, 0.3, 150), rng.normal(21, 0.9, 146), [31.0, 58.0, 66.0, 70.0]])
    modes = describe(rng.permutation(two)).modes
    assert [round(mode.position) for mode in modes] == [14, 21]


def test_a_level_that_lasts_a_hundred_runs_is_no_warm_up() -> None:
    rng = np.random.default_rng(4)
    assert warm_up_length(np.concatenate([rng.normal(12, 0.5, 110), rng.normal(10, 0.5, 390)])) == 0


@pytest.mark.parametrize(("runs", "slow", "lasts"), [(600, 50, 30), (1000, 60, 50), (3000, 150, 100)])
def test_a_start_that_settles_over_more_than_forty_runs_is_warm_up(runs: int, slow: int, lasts: int) -> None:
    """The start decays by a factor e in `slow` runs; a level of that length, without decay, is drift."""
    rng = np.random.default_rng(5)
    found = [describe(3 * np.exp(-np.arange(runs) / slow) + rng.normal(size=runs)) for _ in range(20)]
    assert np.mean([shape.warm_up > lasts for shape in found]) >= 0.9
    assert np.mean([shape.drift for shape in found]) <= 0.1
    level = [describe(3.0 * (np.arange(runs) < runs // 5) + rng.normal(size=runs)) for _ in range(20)]
    assert np.mean([shape.drift and shape.warm_up == 0 for shape in level]) >= 0.9


def test_a_level_at_the_start_is_warm_up_up_to_a_tenth_of_the_runs() -> None:
    rng = np.random.default_rng(6)
    first = [warm_up_length(3.0 * (np.arange(1000) < 90) + rng.normal(size=1000)) for _ in range(10)]
    assert np.abs(np.array(first) - 90).max() <= 4


def test_a_later_shift_hides_no_warm_up() -> None:
    rng = np.random.default_rng(7)
    run = np.arange(600)
    found = [describe(6.0 * (run < 30) + 1.5 * (run > 400) + rng.normal(size=600)) for _ in range(10)]
    assert all(abs(shape.warm_up - 30) <= 2 and shape.drift for shape in found)
