"""What is set aside before the search: columns that cannot speak, that follow, or that are too little to matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.statistics.association.columns import usable
from vgo_agent.tools.statistics.association.look import consequences, too_few


def test_columns_that_cannot_speak_are_set_aside_with_the_reason() -> None:
    columns = np.array([[1, np.nan, 5, np.inf], [2, 1, 5, 1], [3, 2, 5, 1.0]])
    table = usable(columns, ["good", "gap", "flat", "endless"])
    assert table.names == ("good",)
    assert table.set_aside["flat"] == "the same in every run"
    assert "1 of 3" in table.set_aside["gap"] and "endless" in table.set_aside


def two_speeds(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    slow = rng.random(100) < 0.25
    return rng, rng.normal(1, 0.02, 100) + 0.4 * slow, slow


def test_what_grows_with_run_time_is_a_consequence_and_a_cause_is_not() -> None:
    rng, time, slow = two_speeds(1)
    ticks = 250 * time * rng.normal(1, 0.02, 100)
    faults = rng.poisson(np.where(slow, 900, 100))
    noise = rng.normal(10, 1, 100)
    aside = consequences(
        np.column_stack([ticks, faults, noise, -faults]), ["ticks", "faults", "noise", "less"], slow, time
    )
    assert set(aside) == {"ticks"} and "run time" in aside["ticks"]


def test_a_few_ticks_a_run_that_keep_time_are_a_consequence_though_ranks_keep_some_of_the_link() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        slow = rng.random(400) < 0.5
        seconds = np.where(slow, 18.7, 12.8) * rng.normal(1, 0.01, 400)
        ticks = np.floor(seconds / 7.7 + rng.random(400))
        wakes = ticks + np.where(slow, 2 * ticks, 0)
        aside = consequences(np.column_stack([ticks, wakes]), ["ticks", "wakes"], slow, seconds)
        assert set(aside) == {"ticks"}


def test_a_level_is_not_divided_by_run_time() -> None:
    rng, time, slow = two_speeds(2)
    heat = 60 + 3 * slow + rng.normal(size=100)
    assert "heat" in consequences(heat[:, None], ["heat"], slow, time)
    assert consequences(heat[:, None], ["heat"], slow, time, levels=["heat"]) == {}


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 1000))
def test_what_follows_the_work_done_mirrors_what_follows_the_time_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    amount = rng.lognormal(0, 0.3, 80)
    counters = amount[:, None] * rng.normal(1, [0.02, 0.2, 0.5], (80, 3))
    large = amount > np.median(amount)
    as_time = consequences(counters, list("abc"), large, amount)
    as_work = consequences(counters, list("abc"), ~large, amount, per_name="work")
    assert set(as_time) == set(as_work) and "a" in as_time


def test_a_handful_of_ticks_cannot_make_a_delay_of_milliseconds() -> None:
    slow = np.arange(100) % 2 == 1
    seconds = np.where(slow, 0.030, 0.016)
    ticks = np.where(slow, 3.0, 0.0)[:, None]
    assert "too few" in too_few(ticks, ["irq.CAL"], slow, seconds, {"irq.CAL": 100.0})["irq.CAL"]
    assert too_few(ticks * 1000, ["irq.CAL"], slow, seconds, {"irq.CAL": 100.0}) == {}
    assert too_few(ticks, ["irq.CAL"], slow, seconds, {}) == {}
    one_hung = np.where(np.arange(slow.size) == np.flatnonzero(~slow)[0], 900.0, seconds)
    assert "too few" in too_few(ticks, ["irq.CAL"], slow, one_hung, {"irq.CAL": 100.0})["irq.CAL"]


@given(scale=st.floats(1e-3, 1e3))
def test_what_is_too_few_does_not_depend_on_the_length_of_both_classes_alike(scale: float) -> None:
    slow = np.arange(40) % 2 == 1
    seconds = np.where(slow, 0.030, 0.016)
    events = np.where(slow, 12.0, 1.0)[:, None]
    found = too_few(events * scale, ["x"], slow, seconds * scale, {"x": 100.0})
    assert bool(found) == bool(too_few(events, ["x"], slow, seconds, {"x": 100.0}))
