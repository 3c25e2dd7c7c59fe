"""A look at half of the pairs: its bounds, and the chance of a false claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from vgo_agent.tools.statistics.ratio_test import bounds

steady = settings(deadline=None, derandomize=True)


def test_the_bounds_at_half_are_those_of_the_textbooks() -> None:
    # Jennison and Turnbull 2000, table 2.3: C_B(2, .05) = 1.977, at the first look times sqrt(2).
    first, last = bounds(0.05)
    assert first == pytest.approx(0.00517, abs=2e-5)
    assert last == pytest.approx(0.0480, abs=1e-4)


@steady
@given(st.floats(0.001, 0.4), st.floats(0.2, 0.9))
def test_the_bounds_spend_more_than_nothing_early_and_less_than_alpha_at_each_look(alpha: float, share: float) -> None:
    first, last = bounds(alpha, share)
    assert 0 < first < last < alpha <= first + last + 1e-9


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_two_looks_without_an_effect_claim_one_as_often_as_alpha_says(alpha: float) -> None:
    rng = np.random.default_rng(1)
    half = rng.normal(size=400_000)
    whole = (half + rng.normal(size=half.size)) / np.sqrt(2)
    first, last = (-float(ndtri(level / 2)) for level in bounds(alpha))
    claimed = np.mean((np.abs(half) > first) | (np.abs(whole) > last))
    assert claimed == pytest.approx(alpha, rel=0.06)
