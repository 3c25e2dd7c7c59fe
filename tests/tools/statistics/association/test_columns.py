"""What is set aside because it is too little to matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.tools.statistics.association.factors import too_few


def test_a_handful_of_ticks_cannot_make_a_delay_of_milliseconds() -> None:
    slow = np.arange(100) % 2 == 1
    seconds = np.where(slow, 0.030, 0.016)
    ticks = np.where(slow, 3.0, 0.0)[:, None]
    assert "too few" in too_few(ticks, ["irq.CAL"], slow, seconds, {"irq.CAL": 100.0})["irq.CAL"]
    assert too_few(ticks * 1000, ["irq.CAL"], slow, seconds, {"irq.CAL": 100.0}) == {}
    assert too_few(ticks, ["irq.CAL"], slow, seconds, {}) == {}


@given(scale=st.floats(1e-3, 1e3))
def test_what_is_too_few_does_not_depend_on_the_length_of_both_classes_alike(scale: float) -> None:
    slow = np.arange(40) % 2 == 1
    seconds = np.where(slow, 0.030, 0.016)
    events = np.where(slow, 12.0, 1.0)[:, None]
    found = too_few(events * scale, ["x"], slow, seconds * scale, {"x": 100.0})
    assert bool(found) == bool(too_few(events, ["x"], slow, seconds, {"x": 100.0}))
