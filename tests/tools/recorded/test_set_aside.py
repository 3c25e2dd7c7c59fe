"""Columns that can explain nothing are set aside, each with its reason; what might explain stays."""

import numpy as np
import polars as pl
import pytest

from vgo_agent.tools.recorded.design import ColumnOptions, Observations, designs
from vgo_agent.tools.recorded.recorded import RecordedRuns

from ..conftest import Draws

RNG = np.random.default_rng(8)
N = 60
TIME = RNG.lognormal(3, 0.2, N)
NOISE = RNG.lognormal(0, 1, N)
MOMENT = "a date or time: it says when a run was made, not why it was slow"
CLOCK = "a clock or a cumulative counter: it only grows with run order; record differences"
REASONS = {
    "constant": ([7.25] * N, "constant (always 7.25)"),
    "constant but for gaps": ([7, 7, None] * 20, "missing in 20 of 60 runs"),
    "constant word": (["x86"] * N, "constant (always x86)"),
    "empty": ([None] * N, "empty"),
    "all infinite": ([float("inf")] * N, "empty"),
    "mostly empty": ([*NOISE[:47], *[None] * 13], "missing in 13 of 60 runs"),
    "words": (["abc", "def", "ghi"] * 20, "text with 3 values: give it with --settings if it was varied on purpose"),
    "many words": ([f"n-{n % 55}" for n in range(N)], "text with 55 values: give it with --settings"),
    "hashes": ([f"h{n:07x}" for n in range(N)], "text, different in every run: it names the run"),
    "mixed units": (["1 ms", "2 s"] * 30, "it mixes units (ms and s): convert it to one"),
    "dates": ([f"2026-01-{1 + n % 28:02}" for n in range(N)], MOMENT),
    "times of day": ([f"10:{n:02}" for n in range(N)], MOMENT),
    "start_timestamp": (RNG.permutation(N) + 1_795_188_987.5, MOMENT),
    "ts": (RNG.permutation(N) * 17.0 + 1_795_188_987_000, MOMENT),
    "number of the run": (RNG.permutation(N) + 1, "it numbers the runs"),
    "uptime": (np.cumsum(NOISE), CLOCK),
    "counter since boot": (np.cumsum(RNG.poisson(2, N)), CLOCK),
    "what is used up": (-np.cumsum(NOISE), "it only falls with run order, as what is used up: record differences"),
    "nested": ([[1, 2]] * N, "no numbers (List(Int64))"),
}


@pytest.mark.parametrize("kind", REASONS)
def test_a_column_that_can_explain_nothing_is_set_aside_with_the_reason(kind: str) -> None:
    values, reason = REASONS[kind]
    design = seen(**{kind: values})
    assert design.set_aside[kind].startswith(reason)
    assert design.names == ("noise",)


RESTATED = {
    "in ms": TIME * 1000,
    "with an offset": 3 * TIME + 5,
    "mirrored": 100 - TIME,
    "throughput": 5e6 / TIME,
    "logarithm": np.log(TIME),
    "squared": TIME**2,
    "bent": np.where(TIME < 20, TIME, TIME**3),
    "rounded": np.round(TIME, 0),
    "with a little noise": TIME + RNG.normal(0, 0.05, N),
}


@pytest.mark.parametrize("kind", RESTATED)
def test_the_outcome_in_other_words_is_set_aside(kind: str) -> None:
    assert seen(**{kind: RESTATED[kind]}).set_aside[kind].startswith("the outcome in other words")


KEPT = {
    "a strong cause": TIME + RNG.normal(0, 1, N),
    "with a gap or two": [None, float("inf"), *NOISE[2:][::-1]],
    "a step": [0.0] * 30 + [1.0] * 30,
    "true and false": [True, False, False] * 20,
    "numbers with commas": [f"{1000 + n * 37 % 61 * 100:,}" for n in range(N)],
    "numbers with a unit": [f"{n * 37 % 61} ms" for n in range(N)],
    "a gigabyte": RNG.choice([1_073_741_824, 2_147_483_648], N),
    "whole numbers, some twice": RNG.permutation(N) // 2,
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_might_explain_stays(kind: str) -> None:
    design = seen(**{kind: KEPT[kind]})
    assert kind in design.names and not design.set_aside
    assert np.isfinite(design.values).all()


def test_a_cause_that_makes_two_far_modes_is_not_taken_for_the_outcome() -> None:
    slow = RNG.random(N) < 0.4
    time = np.where(slow, 100.0, 1.0) * RNG.lognormal(0, 0.01, N)
    design = seen(time=time, faults=np.where(slow, 50_000, 1_000) + RNG.poisson(30, N), mode=slow)
    assert {"faults", "mode"} <= set(design.names)


def test_exact_duplicates_are_named_by_what_they_repeat_and_the_shorter_name_stays() -> None:
    design = seen(faults_again=NOISE[::-1], faults=NOISE[::-1], nearly=np.nextafter(NOISE[::-1], np.inf))
    assert design.set_aside == {"faults_again": "the same as faults"}
    assert set(design.names) == {"noise", "faults", "nearly"}


def test_columns_alike_but_for_what_is_missing_are_no_duplicates() -> None:
    value = NOISE[::-1].copy()
    holes = value.copy()
    holes[3] = np.nan
    assert {"whole", "holes"} <= set(seen(whole=value, holes=holes).names)


def test_gaps_are_filled_with_the_median_and_said_once() -> None:
    one, two = NOISE[::-1].copy(), np.roll(NOISE, 7)
    one[5], two[6], two[7] = np.nan, np.inf, -np.inf
    design = seen(one=one, two=two)
    filled = [words for words in design.warnings if "median" in words]
    assert filled == ["Missing values were filled with the median in 2 columns: one (1) and two (2)."]
    assert design.values[5, design.names.index("one")] == np.nanmedian(one)


def test_words_among_numbers_count_as_missing_and_are_said() -> None:
    design = seen(latency=["timeout", *[f"{value:.3f}" for value in NOISE[1:][::-1]]])
    assert "latency" in design.names
    assert any("In latency these count as missing: timeout" in words for words in design.warnings)


def test_what_the_format_knows_is_believed() -> None:
    frame = pl.DataFrame({"time": TIME, "cpu_s": NOISE, "pair": NOISE[::-1]})
    recorded = RecordedRuns(frame, "x", "x", outcome="time", roles={"cpu_s": "consequence", "pair": "id"})
    ((_, design),) = designs(recorded, ColumnOptions())
    assert design.set_aside["cpu_s"].startswith("a consequence") and design.set_aside["pair"].startswith("it names")


def test_thousands_of_columns_of_fifty_runs_are_all_looked_at(draws: Draws) -> None:
    many = draws(2000, 10_000)
    wide = {f"c{number}": RNG.poisson(100, 50) for number in range(many)}
    frame = pl.DataFrame({"time": TIME[:50], **wide, "copy_of_c17": wide["c17"], "ms": TIME[:50] * 1000})
    ((_, design),) = designs(RecordedRuns(frame, "x", "x"), ColumnOptions(outcome="time"))
    assert design.values.shape == (50, many)
    assert set(design.set_aside) == {"copy_of_c17", "ms"}


@pytest.mark.parametrize("runs", [1, 2, 3, 7])
def test_a_handful_of_runs_is_no_reason_to_fail(runs: int) -> None:
    frame = pl.DataFrame({"time": TIME[:runs], "noise": NOISE[:runs], "host": ["a"] * runs})
    ((_, design),) = designs(RecordedRuns(frame, "x", "x"), ColumnOptions(outcome="time"))
    assert len(design.outcome) == runs and design.values.shape[0] == runs


def seen(**columns: object) -> Observations:
    frame = pl.DataFrame({"time": TIME, "noise": NOISE} | columns, strict=False)
    ((_, design),) = designs(RecordedRuns(frame, "runs.csv", "csv"), ColumnOptions(outcome="time"))
    return design
