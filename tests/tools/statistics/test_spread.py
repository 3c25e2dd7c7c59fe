"""Spread in numbers, when it is known, and how many pairs show that it fell."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.comparison.compare import compare
from vgo_agent.tools.statistics.spread import log_sd_interval, summarise
from vgo_agent.tools.statistics.stopping.power import pairs_needed
from vgo_agent.tools.statistics.stopping.spread_known import next_look, spread_known
from vgo_agent.tools.statistics.values import FloatArray

TIMES = st.lists(st.integers(1_000, 10_000_000).map(lambda us: us / 1e6), min_size=2, max_size=60)
steady = settings(max_examples=50, deadline=None, derandomize=True)


@steady
@given(TIMES, st.randoms(use_true_random=False))
def test_the_order_of_the_runs_leaves_a_summary_unchanged_to_the_last_bit(times: list[float], random: Random) -> None:
    shuffled = list(times)
    random.shuffle(shuffled)
    assert summarise(shuffled) == summarise(times)


@steady
@given(TIMES)
def test_a_summary_in_milliseconds_is_a_thousand_times_one_in_seconds(times: list[float]) -> None:
    seconds, milliseconds = summarise(times), summarise(np.array(times) * 1000)
    for name in ("mean", "median", "sd", "mad", "iqr", "p5", "p95", "p99", "minimum", "maximum"):
        assert getattr(milliseconds, name) == pytest.approx(1000 * getattr(seconds, name), rel=1e-9, abs=1e-6)
    assert milliseconds.cv == pytest.approx(seconds.cv, rel=1e-9, abs=1e-9)


@steady
@given(TIMES)
def test_quantiles_are_those_of_numpy(times: list[float]) -> None:
    summary = summarise(times)
    assert [summary.p5, summary.median, summary.p95, summary.p99] == pytest.approx(
        np.quantile(times, [0.05, 0.5, 0.95, 0.99]), rel=1e-12
    )


def test_what_is_undefined_is_none_and_what_is_not_finite_is_counted() -> None:
    alone = summarise([2.0, math.nan, math.inf])
    assert (alone.n, alone.dropped, alone.sd, alone.cv) == (1, 2, None, None)
    assert summarise([-1.0, 1.0]).cv is None


def test_a_summary_of_nothing_is_refused_in_one_sentence() -> None:
    with pytest.raises(VgoError, match="no finite outcome"):
        summarise([math.nan])


def test_the_interval_of_the_sd_covers_it_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    normal = [log_sd_interval(rng.normal(size=60)) for _ in range(400)]
    bimodal = [log_sd_interval(rng.normal(size=60) + 8 * (rng.random(60) < 0.15)) for _ in range(400)]
    for intervals, sd in ((normal, 1.0), (bimodal, math.sqrt(1 + 64 * 0.15 * 0.85))):
        assert 0.91 <= np.mean([i is not None and i.low <= sd <= i.high for i in intervals]) <= 0.99


def test_no_interval_without_spread_or_with_four_runs() -> None:
    assert log_sd_interval([1.0] * 50) is None
    assert log_sd_interval([1.0, 2.0, 3.0, 4.0]) is None


def test_measuring_stops_only_when_the_spread_is_known() -> None:
    runs = np.random.default_rng(2).normal(1, 0.05, 400)
    assert not spread_known(runs[:29]).known
    assert not spread_known(runs[:60]).known, "six runs above p90 say little about a tail"
    stopped = spread_known(runs[:120])
    assert stopped.known and stopped.factor is not None and stopped.factor <= 1.25


def test_rare_spikes_need_many_more_runs_than_a_normal_law() -> None:
    rng = np.random.default_rng(3)
    spiky = 1 + 0.01 * rng.normal(size=200) + np.where(rng.random(200) < 0.03, rng.exponential(1, 200), 0)
    assert not spread_known(spiky).known


def test_equal_runs_stop_at_the_minimum() -> None:
    assert not spread_known([1.0] * 10).known
    assert spread_known([1.0] * 30).known


@steady
@given(st.integers(0, 10_000))
def test_the_next_look_is_later_by_a_tenth(n: int) -> None:
    assert n < next_look(n) <= n + max(1, math.ceil(n / 10))


@steady
@given(st.lists(st.floats(0.1, 10), min_size=5, max_size=50), st.floats(0.2, 0.9))
def test_a_smaller_effect_never_needs_fewer_pairs(values: list[float], ratio: float) -> None:
    assert pairs_needed(values, ratio) <= pairs_needed(values, (1 + ratio) / 2)


def test_the_planned_pairs_have_about_the_power_they_promise() -> None:
    rng = np.random.default_rng(4)
    laws: tuple[Callable[[int], FloatArray], ...] = (
        lambda n: rng.normal(1, 0.05, n),
        lambda n: rng.lognormal(0, 0.5, n),
    )
    for law in laws:
        n = int(np.median([pairs_needed(law(100), 0.66) for _ in range(25)]))
        steadier = [compare(law(n), 0.66 * law(n), seed, 300).verdict == "steadier" for seed in range(60)]
        assert np.mean(steadier) > 0.68


def test_heavy_tails_need_more_pairs_up_to_the_cap() -> None:
    rng = np.random.default_rng(5)
    normal = rng.normal(size=200)
    spiky = normal * 0.02 + np.where(rng.random(200) < 0.05, rng.exponential(1, 200), 0)
    assert pairs_needed(normal) < pairs_needed(spiky) <= 400
    assert pairs_needed([1.0] * 40) == 30
