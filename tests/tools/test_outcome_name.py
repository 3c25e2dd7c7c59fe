"""An outcome in words: what a person would call it who sees what the program prints."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.tools.subject import outcome_name


@pytest.mark.parametrize(
    ("metric", "unit", "name"),
    [
        (None, "s", "wall time"),
        ("time_ms ([0-9.]+)", "ms", "time"),
        ("time: ([0-9.]+) ms", "ms", "time"),
        (r"^Total runtime\s*=\s*(\d+)", "s", "Total runtime"),
        (r"(\d+) requests", "1", "requests"),
        (r"([0-9.]+) ms", "ms", "outcome"),
        ("total_ms", "ms", "total"),
        ("bandwidth: ([0-9.]+)", "MB/s", "bandwidth"),
    ],
)
def test_the_words_before_the_number_are_its_name(metric, unit, name):
    assert outcome_name(metric, unit) == name


@given(st.from_regex(re.compile(r"[A-Za-z][A-Za-z ]{0,20}[A-Za-z]", re.ASCII), fullmatch=True))
def test_plain_words_before_a_number_are_kept(words):
    assert outcome_name(f"{re.escape(words)}: ([0-9]+)", "") == words or "  " in words


@given(st.text(max_size=40), st.text(max_size=4))
def test_every_pattern_has_a_name(metric, unit):
    assert outcome_name(metric, unit).strip()
