"""How numbers are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.report.numbers import number, p_value, percent, quantity, ratio


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.2346, "s", "234.6 ms"),
        (2.5e-6, "s", "2.5 us"),
        (1500.0, "ms", "1.5 s"),
        (8 * 2**30, "bytes", "8 GiB"),
        (2048.0, "kB", "2 MiB"),
        (12.0, "count", "12"),
        (3.14159, "rounds", "3.142 rounds"),
        (0.0, "s", "0 s"),
        (None, "s", "–"),
    ],
)
def test_a_quantity_is_written_in_the_unit_that_suits_its_size(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(12345.6, 4, "12,346"), (1234.5, 3, "1,234"), (99.96, 2, "100"), (0.00012345, 3, "0.000123"), (-2.5, 4, "-2.5")],
)
def test_a_number_has_no_exponent_where_people_can_do_without(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_a_ratio_carries_its_interval_and_an_undefined_one_says_so() -> None:
    assert ratio(0.3111, 0.2444, 0.4) == "0.311 [0.244, 0.4]"
    assert ratio(0.5) == "0.5"
    assert ratio(None) == "undefined"


def test_a_tiny_p_value_is_not_written_out() -> None:
    assert (p_value(0.0004), p_value(0.0123), p_value(1.0)) == ("p < 0.001", "p = 0.012", "p = 1")
    assert percent(0.0123) == "1.23 %"


@given(st.floats(1e-12, 1e15))
def test_seconds_keep_their_value_to_four_digits(seconds: float) -> None:
    text, unit = quantity(seconds, "s").split(" ")
    size = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    assert float(text.replace(",", "")) * size == pytest.approx(seconds, rel=6e-4)


def test_a_rate_in_bytes_is_scaled_and_other_rates_are_left() -> None:
    assert quantity(3 * 2**20, "KiB/s") == "3 GiB/s"
    assert quantity(2_500_000, "ops/s") == "2,500,000 ops/s"
    assert quantity(2.0, "m/s") == "2 m/s"
