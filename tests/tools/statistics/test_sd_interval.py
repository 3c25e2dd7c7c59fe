"""How well the SD is known: coverage, units, order, and runs that depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from vgo_agent.tools.statistics.spread import autocorrelation, inflation, log_sd_interval
from vgo_agent.tools.statistics.values import FloatArray

from ..conftest import Draws

TIMES = st.lists(st.integers(1_000, 10_000_000).map(lambda us: us / 1e6), min_size=5, max_size=40)
steady = settings(deadline=None, derandomize=True)
Draw = Callable[[np.random.Generator, int], FloatArray]
LAWS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(0, 0.5, n), math.sqrt((math.exp(0.25) - 1) * math.exp(0.25))),
    "bimodal": (lambda rng, n: rng.normal(size=n) + 8 * (rng.random(n) < 0.15), math.sqrt(1 + 64 * 0.15 * 0.85)),
}


def series(rng: np.random.Generator, n: int, r: float) -> FloatArray:
    """An AR(1) series with SD 1."""
    drawn: FloatArray = lfilter([1], [1, -r], rng.normal(size=n + 200) * math.sqrt(1 - r * r))[200:]
    return drawn


def covered(draw: Draw, sd: float, n: int, times: int) -> float:
    rng = np.random.default_rng(3)
    intervals = [log_sd_interval(draw(rng, n)) for _ in range(times)]
    return float(np.mean([i.low <= sd <= i.high for i in intervals if i is not None]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("runs", [60, 200])
def test_the_interval_covers_the_sd_about_as_often_as_it_says(law: str, runs: int, draws: Draws) -> None:
    draw, sd = LAWS[law]
    assert 0.92 <= covered(draw, sd, runs, draws(100, 400)) <= 0.99


@pytest.mark.parametrize(("r", "runs"), [(0.5, 60), (0.5, 200), (0.9, 400)])
def test_dependent_runs_are_counted_for_what_they_are_worth(r: float, runs: int, draws: Draws) -> None:
    assert covered(lambda rng, n: series(rng, n, r), 1.0, runs, draws(60, 250)) > 0.9


def test_there_is_no_interval_where_dependent_runs_are_worth_too_few() -> None:
    rng = np.random.default_rng(4)
    intervals = [log_sd_interval(series(rng, 60, 0.9)) for _ in range(50)]
    assert sum(interval is None for interval in intervals) > 35


def test_the_interval_holds_the_sd_it_is_about_even_where_runs_come_in_blocks() -> None:
    rng = np.random.default_rng(8)
    held = []
    for _ in range(8):
        runs = np.repeat(900 + 450 * (rng.random(8) < 0.5), 250) + rng.normal(0, 20, 2000)
        interval = log_sd_interval(runs)
        if interval is not None:
            held.append(interval.low <= runs.std(ddof=1) <= interval.high)
    assert held and all(held)


def test_runs_in_no_order_are_not_corrected_for_their_neighbours() -> None:
    rng = np.random.default_rng(9)
    blocks = np.repeat(rng.normal(size=10), 20) + rng.normal(0, 0.1, 200)
    assert log_sd_interval(blocks) is None
    given, sorted_ = log_sd_interval(blocks, ordered=False), log_sd_interval(np.sort(blocks), ordered=False)
    assert given is not None and given == sorted_


def test_no_interval_without_spread_or_with_four_runs() -> None:
    assert log_sd_interval([1.0] * 50) is None
    assert log_sd_interval([1.0, 2.0, 3.0, 4.0]) is None


@steady
@given(TIMES)
def test_the_interval_in_milliseconds_is_a_thousand_times_one_in_seconds(times: list[float]) -> None:
    seconds, milliseconds = log_sd_interval(times), log_sd_interval(np.array(times) * 1000)
    assert (seconds is None) == (milliseconds is None)
    if seconds and milliseconds:
        assert milliseconds.low == pytest.approx(1000 * seconds.low, rel=1e-6)
        assert milliseconds.high == pytest.approx(1000 * seconds.high, rel=1e-6)


@steady
@given(TIMES, st.floats(-100, 100))
def test_the_interval_does_not_depend_on_where_zero_is(times: list[float], shift: float) -> None:
    here, there = log_sd_interval(times), log_sd_interval(np.array(times) + shift)
    assert (here is None) == (there is None)
    if here and there:
        assert [there.low, there.high] == pytest.approx([here.low, here.high], rel=1e-5)


@steady
@given(TIMES)
def test_the_same_runs_have_the_same_interval_and_it_holds_a_positive_number(times: list[float]) -> None:
    interval = log_sd_interval(times)
    assert interval == log_sd_interval(list(times))
    assert interval is None or 0 < interval.low <= interval.high


def test_mirrored_runs_have_the_same_interval() -> None:
    runs = np.random.default_rng(5).lognormal(size=80)
    one, other = log_sd_interval(runs), log_sd_interval(-runs)
    assert one and other
    # The resamples are drawn by place, so mirroring gives others of the same law.
    assert [one.low, one.high] == pytest.approx([other.low, other.high], rel=0.15)


def test_independent_runs_are_not_corrected_and_dependent_ones_are() -> None:
    rng = np.random.default_rng(6)
    corrected = [inflation(rng.normal(size=100)).square > 1 for _ in range(200)]
    assert np.mean(corrected) < 0.1
    long = inflation(series(rng, 20_000, 0.9))
    assert long.mean == pytest.approx(19, rel=0.25)
    assert long.square == pytest.approx(9.5, rel=0.25)


def test_autocorrelation_is_one_at_lag_zero_and_that_of_the_definition() -> None:
    x = np.random.default_rng(7).normal(size=50)
    found = autocorrelation(x)
    centred = x - x.mean()
    assert found[0] == pytest.approx(1.0)
    assert found[3] == pytest.approx(float((centred[:-3] * centred[3:]).sum() / (centred**2).sum()))
    assert not autocorrelation(np.ones(5)).any()
