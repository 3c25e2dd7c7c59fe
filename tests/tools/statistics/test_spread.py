"""Spread in numbers."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.statistics.spread import summarise

TIMES = st.lists(st.integers(1_000, 10_000_000).map(lambda us: us / 1e6), min_size=2, max_size=60)
steady = settings(deadline=None, derandomize=True)


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
