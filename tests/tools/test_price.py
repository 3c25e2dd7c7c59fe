"""A price of a remedy is told by the interval of the mean alone, in every place by one rule."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.claim import PRICE
from vgo_agent.tools.remedies import price

from .test_verdict import MEAN

RATIO = st.floats(0.2, 5)
law = settings(derandomize=True, deadline=None)


def mean(low, high):
    return MEAN.model_copy(update={"low": low, "high": high})


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(1.3, 1.8, "shown"), (0.8, 1.4, "open"), (1.03, 1.049, "excluded"), (0.5, 0.7, "excluded"), (0.9, None, "open")],
)
def test_a_price_is_shown_or_excluded_only_where_the_whole_interval_says_so(low, high, told):
    assert price(mean(low, high), lower_is_better=True) == told


@law
@given(RATIO, RATIO)
def test_a_higher_mean_is_as_good_where_higher_is_better_as_its_inverse_where_lower_is(one, other):
    low, high = sorted((one, other))
    if all(not math.isclose(end, edge, rel_tol=1e-9) for end in (low, high) for edge in (PRICE, 1 / PRICE)):
        assert price(mean(low, high), lower_is_better=False) == price(mean(1 / high, 1 / low), lower_is_better=True)
