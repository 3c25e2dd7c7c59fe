"""Outcome, direction, order, settings and groups: what the statistics are given."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.recorded.design import ColumnOptions, Observations, designs
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns

RNG = np.random.default_rng(4)
TIMES = RNG.lognormal(3, 0.1, 40)
FAULTS = RNG.poisson(1000, 40)


def test_outcome_and_columns_are_finite_numbers_in_columns_that_lie_together() -> None:
    design = only(table(faults=FAULTS), outcome="time")
    assert np.array_equal(design.outcome, TIMES) and np.array_equal(design.values[:, 0], FAULTS)
    assert design.values.flags.f_contiguous and design.values.dtype == np.float64
    assert design.names == ("faults",) and design.ordered
    assert design.rows.tolist() == list(range(40))


def test_without_an_outcome_the_numeric_columns_are_named() -> None:
    with pytest.raises(VgoError, match="--outcome: one of time and faults"):
        only(table(faults=FAULTS))


def test_a_misspelt_outcome_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(VgoError, match="no column tiem .*did you mean time; its numeric columns are time and faults"):
        only(table(faults=FAULTS), outcome="tiem")


@pytest.mark.parametrize("option", ["group", "settings", "exclude", "levels"])
def test_a_misspelt_column_is_refused_with_its_option(option: str) -> None:
    with pytest.raises(VgoError, match=f"no column fautls .--{option}.: did you mean faults"):
        only(table(faults=FAULTS), outcome="time", **{option: ("fautls",)})


def test_one_column_cannot_serve_two_ends() -> None:
    with pytest.raises(VgoError, match="faults is given to two of"):
        only(table(faults=FAULTS), outcome="time", group=("faults",), settings=("faults",))
    with pytest.raises(VgoError, match="time is the outcome: take it out"):
        only(table(faults=FAULTS), outcome="time", exclude=("time",))


def test_an_outcome_written_with_one_unit_is_read() -> None:
    design = only(table(latency=[f"{value:.1f} ms" for value in TIMES]), outcome="latency")
    assert design.unit == "ms" and np.allclose(design.outcome, TIMES, atol=0.05)


def test_an_outcome_in_mixed_units_is_refused() -> None:
    with pytest.raises(VgoError, match="latency mixes units .ms and s.: convert it to one unit"):
        only(table(latency=["12.5ms"] * 20 + ["3 s"] * 20), outcome="latency")


def test_an_outcome_whose_unit_stands_beside_it_is_refused_when_mixed_and_read_by_group() -> None:
    mixed = table(unit=["ns/op", "msg/s"] * 20, kind=["a", "b"] * 20)
    with pytest.raises(VgoError, match="in several units .msg/s and ns/op.: give --group unit"):
        only(mixed, outcome="time")
    slow, fast = (design for _, design in designs(mixed, ColumnOptions(outcome="time", group=("kind",))))
    assert (slow.unit, fast.unit) == ("ns/op", "msg/s")


def test_text_and_empty_outcomes_are_refused() -> None:
    with pytest.raises(VgoError, match="host is text .such as 'a'.: name one of time"):
        only(table(host=["a", "b"] * 20), outcome="host")
    with pytest.raises(VgoError, match="gone has no finite value"):
        only(table(gone=[float("inf"), None] * 20), outcome="gone")


def test_runs_without_a_finite_outcome_are_dropped_and_said() -> None:
    times = [None, float("inf"), float("nan"), *range(1, 38)]
    design = only(table(score=times), outcome="score")
    assert len(design.outcome) == 37 and design.rows[0] == 3
    assert any("3 of 40 runs have no finite score" in words for words in design.warnings)


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("time_s", True),
        ("throughput", False),
        ("requests_per_s", False),
        ("GFlops", False),
        ("score", False),
        ("miss_rate", True),
        ("throughput_variance", True),
        ("latency", True),
        ("value", True),
    ],
)
def test_the_better_way_is_guessed_by_name_and_said(name: str, lower: bool) -> None:
    design = only(table(**{name: TIMES}), outcome=name)
    assert design.lower_is_better is lower
    assert any(("lower" if lower else "higher") in words for words in design.warnings)


def test_the_better_way_is_what_the_user_then_the_format_says() -> None:
    recorded = RecordedRuns(pl.DataFrame({"throughput": TIMES}), "x", "x", lower_is_better={"throughput": True})
    assert only(recorded, outcome="throughput").lower_is_better
    assert not only(recorded, outcome="throughput", lower_is_better=False).lower_is_better
    assert not only(recorded, outcome="throughput").warnings


def test_a_column_of_times_or_numbers_puts_the_runs_in_order() -> None:
    for order in (list(range(39, -1, -1)), [f"2026-01-01T10:00:{second:02}Z" for second in range(39, -1, -1)]):
        design = only(table(when=order), outcome="time", order="when")
        assert design.rows.tolist() == list(range(39, -1, -1))
        assert design.set_aside["when"] == "it gives the order of the runs"


def test_an_order_with_ties_gaps_or_nothing_in_it_is_said() -> None:
    tied = only(table(batch=[1, None] + [2] * 38), outcome="time", order="batch")
    assert len(tied.outcome) == 39
    assert any("1 runs have no batch" in words for words in tied.warnings)
    assert any("the same for 37 runs" in words for words in tied.warnings)
    for column, words in (
        ([1] * 40, "is the same in all runs"),
        ([None] * 40, "gives no order"),
        (["x"] * 40, "no order"),
    ):
        with pytest.raises(VgoError, match=words):
            only(table(batch=column), outcome="time", order="batch")


def test_order_none_says_that_the_order_means_nothing() -> None:
    design = only(table(boot_us=np.cumsum(FAULTS)), outcome="time", order="none")
    assert not design.ordered and design.names == ("boot_us",)


def test_a_file_that_contradicts_its_own_times_is_said() -> None:
    hours = [f"2026-01-01 {hour:02}:00:00" for hour in RNG.permutation(20)] * 2
    assert any("not in the order of day" in words for words in only(table(day=hours), outcome="time").warnings)


def test_a_text_setting_becomes_one_indicator_a_value() -> None:
    hosts = ["a", "b", None, "a"] * 10
    design = only(table(host=hosts), outcome="time", settings=("host",))
    assert design.names == ("host=a", "host=b", "host=missing")
    assert design.groups == {"host": design.names}
    assert design.settings == design.levels == set(design.names)
    assert design.values[:, 0].tolist() == [float(host == "a") for host in hosts]


def test_a_numeric_setting_stays_one_column_though_it_grows_with_order() -> None:
    design = only(
        table(threads=np.repeat([1, 2, 3, 4], 10), step=range(40)), outcome="time", settings=("threads", "step")
    )
    assert design.names == ("threads", "step") and design.settings == {"threads", "step"} and not design.groups


def test_a_setting_with_too_many_values_is_set_aside() -> None:
    recorded = RecordedRuns(pl.DataFrame({"time": np.tile(TIMES, 3), "host": [f"h-{n}" for n in range(120)]}), "x", "x")
    design = only(recorded, outcome="time", settings=("host",))
    assert design.set_aside["host"] == "a setting with 120 values, more than 100: give it with --group"


def test_two_settings_that_say_the_same_are_kept_once() -> None:
    design = only(table(host=["a", "b"] * 20, place=["x", "y"] * 20), outcome="time", settings=("host", "place"))
    assert set(design.names) == {"host=a", "host=b"}
    assert design.set_aside["place=x"] == "the same as host=a" and design.groups == {"host": ("host=a", "host=b")}


def test_groups_are_every_combination_each_with_its_own_reasons() -> None:
    recorded = table(faults=FAULTS, host=["a", "b"] * 20, size=[1] * 20 + [2] * 20, steady=[7] * 20 + list(range(20)))
    found = designs(recorded, ColumnOptions(outcome="time", group=("host", "size")))
    assert [values for values, _ in found] == [{"host": h, "size": s} for s in (1, 2) for h in "ab"]
    assert [len(design.outcome) for _, design in found] == [10] * 4
    assert found[0][1].set_aside["steady"] == "constant (always 7)"
    assert "only grows with run order" in found[2][1].set_aside["steady"]
    assert np.array_equal(found[1][1].outcome, TIMES[1:20:2])


def test_too_many_groups_are_refused() -> None:
    many = RecordedRuns(pl.DataFrame({"time": np.ones(10_001), "host": range(10_001)}), "x", "x")
    with pytest.raises(VgoError, match="makes 10,001 groups, more than 10,000: group by fewer"):
        designs(many, ColumnOptions(outcome="time", group=("host",)))


def test_only_the_baseline_counts_unless_conditions_are_asked_for(tmp_path: Path) -> None:
    header = "order,condition,pair,ok,exit_code,survivors,outcome,wall_s,minor_faults"
    rows = [
        f"{n},{('baseline', 'pin')[n % 4 == 0]},-1,1,0,0,{t},{t},{f}"
        for n, (t, f) in enumerate(zip(TIMES, FAULTS, strict=True))
    ]
    (tmp_path / "runs.csv").write_text("\n".join([header, *rows]))
    recorded = read(tmp_path)
    design = only(recorded)
    assert len(design.outcome) == 30 and design.names == ("minor_faults",)
    assert any("10 runs whose condition is not baseline" in words for words in design.warnings)
    assert len(designs(recorded, ColumnOptions(group=("condition",)))) == 2
    assert len(only(recorded, settings=("condition",)).outcome) == 40


def test_runs_that_were_not_profiled_give_way_to_those_that_were() -> None:
    profiled = [None] * 15 + [int(value) for value in FAULTS[15:]]
    others = {f"misses{k}": [value and value % k for value in profiled] for k in (17, 19)}
    design = only(table(faults=profiled, **others), outcome="time")
    assert len(design.outcome) == 25 and set(design.names) == {"faults", "misses17", "misses19"}
    assert any("15 of 40 runs recorded none of 3 columns" in words for words in design.warnings)


def test_one_column_with_gaps_costs_no_runs() -> None:
    design = only(table(faults=[None] * 15 + [int(value) for value in FAULTS[15:]]), outcome="time")
    assert len(design.outcome) == 40 and design.set_aside == {"faults": "missing in 15 of 40 runs"}


def test_levels_are_guessed_by_unit_name_and_range_and_said() -> None:
    shares = RNG.uniform(0, 1, 40)
    design = only(
        table(cpu_temp=FAULTS, busy=[f"{n}%" for n in FAULTS], retiring=shares, user_s=shares**2, faults=FAULTS % 7),
        outcome="time",
        levels=("faults",),
    )
    assert design.levels == {"cpu_temp", "busy", "retiring", "faults"} - set(design.set_aside)
    assert "user_s" in design.names
    assert any("Taken for levels" in words and "retiring" in words for words in design.warnings)


def test_a_share_is_not_guessed_by_range_where_the_outcome_is_as_small() -> None:
    design = only(table(seconds=TIMES / 100, waited=RNG.uniform(0, 1, 40)), outcome="seconds", exclude=("time",))
    assert design.names == ("waited",) and not design.levels


def only(recorded: RecordedRuns, **options: Any) -> Observations:
    ((_, design),) = designs(recorded, ColumnOptions(**options))
    return design


def table(**columns: Any) -> RecordedRuns:
    return RecordedRuns(pl.DataFrame({"time": TIMES} | columns, strict=False), "runs.csv", "csv")
