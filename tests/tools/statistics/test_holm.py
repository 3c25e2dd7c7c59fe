"""Holm's procedure: adjusted p-values, and the alpha of each step."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.ratio_test import holm, holm_steps

steady = settings(deadline=None, derandomize=True)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@steady
@given(P_VALUES)
def test_holm_keeps_the_order_and_never_helps(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(0 <= p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    assert all(
        q <= s
        for p, q in zip(p_values, adjusted, strict=True)
        for r, s in zip(p_values, adjusted, strict=True)
        if p <= r
    )


@steady
@given(P_VALUES, st.randoms(use_true_random=False))
def test_holm_does_not_depend_on_the_order_of_the_claims(p_values: list[float], random: Random) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)
    assert holm([p_values[place] for place in order]) == tuple(holm(p_values)[place] for place in order)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([]) == ()


@steady
@given(P_VALUES, st.sampled_from((0.01, 0.05, 0.2)))
def test_a_step_rejects_what_the_adjusted_p_value_rejects(p_values: list[float], alpha: float) -> None:
    named = {str(at): p for at, p in enumerate(p_values)}
    steps = holm_steps(named, alpha)
    for (name, p), adjusted in zip(named.items(), holm(p_values), strict=True):
        if abs(adjusted - alpha) > 1e-9:
            assert (p <= steps[name]) == (adjusted <= alpha)


def test_steps_by_hand() -> None:
    assert holm_steps({"a": 0.01, "b": 0.04, "c": 0.03}, 0.06) == pytest.approx({"a": 0.02, "c": 0.03, "b": 0.06})
    assert holm_steps({"a": 0.01, "b": 0.04, "c": 0.03}, 0.05) == pytest.approx({"a": 0.05 / 3, "b": 0.025, "c": 0.025})
