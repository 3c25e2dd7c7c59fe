"""Laws: the order of columns, of rows where a column gives it, and the unit of a column change nothing."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.recorded.design import ColumnOptions, Observations, designs
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns

SEEDS = st.integers(0, 2**32 - 1)
LAW = settings(derandomize=True, deadline=None)


@LAW
@given(SEEDS, st.integers(1, 60))
def test_the_order_of_columns_changes_nothing(seed: int, runs: int) -> None:
    frame = anything(seed, runs)
    order = np.random.default_rng(seed + 1).permutation(frame.width)
    assert content(seen(frame)) == content(seen(frame.select([frame.columns[place] for place in order])))


@LAW
@given(SEEDS, st.integers(2, 60))
def test_shuffled_rows_change_nothing_where_a_column_gives_the_order(seed: int, runs: int) -> None:
    frame = anything(seed, runs).with_columns(turn=pl.int_range(runs))
    shuffled = frame[np.random.default_rng(seed + 1).permutation(runs)]
    assert content(seen(frame, order="turn")) == content(seen(shuffled, order="turn"))


@LAW
@given(SEEDS, st.integers(1, 60), st.integers(-3, 12))
def test_the_unit_of_a_column_scales_it_and_changes_nothing_else(seed: int, runs: int, power: int) -> None:
    frame = anything(seed, runs)
    before = seen(frame)
    after = seen(frame.with_columns(pl.col("faults", "faults_again", "time") * 2.0**power))
    assert (after.names, set(after.set_aside), after.levels) == (before.names, set(before.set_aside), before.levels)
    if "faults" in before.names:
        place = before.names.index("faults")
        assert np.array_equal(after.values[:, place], before.values[:, place] * 2.0**power)
    assert np.array_equal(after.outcome, before.outcome * 2.0**power)


@LAW
@given(SEEDS, st.integers(1, 60))
def test_a_group_sees_what_its_rows_alone_would_show(seed: int, runs: int) -> None:
    frame = anything(seed, runs)
    recorded = RecordedRuns(frame, "x", "x")
    for values, design in designs(recorded, ColumnOptions(outcome="time", group=("host",))):
        alone = seen(frame.filter(pl.col("host").eq_missing(values["host"])), exclude=("host",))
        assert (design.names, design.outcome.tolist()) == (alone.names, alone.outcome.tolist())
        assert np.array_equal(design.values, alone.values)


@LAW
@given(SEEDS, st.integers(1, 40), st.sampled_from([",", ";", "\t", "|"]))
def test_a_table_written_and_read_again_shows_the_same(seed: int, runs: int, separator: str) -> None:
    frame = anything(seed, runs)
    with TemporaryDirectory() as folder:
        frame.write_csv(Path(folder) / "runs.csv", separator=separator)
        frame.write_parquet(Path(folder) / "runs.parquet")
        ((_, text),) = designs(read(Path(folder) / "runs.csv"), ColumnOptions(outcome="time"))
        ((_, binary),) = designs(read(Path(folder) / "runs.parquet"), ColumnOptions(outcome="time"))
    assert content(text) == content(binary) == content(seen(frame))


def anything(seed: int, runs: int) -> pl.DataFrame:
    """Counters, a copy, the outcome in other words, text, gaps and a clock; no level that only its range shows."""
    rng = np.random.default_rng(seed)
    time, faults = rng.lognormal(4, 0.3, runs), rng.poisson(1000, runs).astype(float)
    gaps = np.where(rng.random(runs) < 0.1, np.nan, rng.lognormal(4, 1, runs))
    return pl.DataFrame(
        {
            "time": time,
            "faults": faults,
            "faults_again": faults,
            "rate": 1e7 / time,
            "gaps": pl.Series(gaps).fill_nan(None),
            "host": rng.choice(["a", "b", "c"], runs),
            "boot": np.cumsum(rng.poisson(100, runs)),
            "steady": np.full(runs, 3.5),
        }
    )


def seen(frame: pl.DataFrame, **options: object) -> Observations:
    wanted = ColumnOptions(outcome="time", **options)  # type: ignore[arg-type]
    ((_, design),) = designs(RecordedRuns(frame, "x", "x"), wanted)
    return design


def content(design: Observations) -> tuple[object, ...]:
    columns = {name: tuple(design.values[:, place]) for place, name in enumerate(design.names)}
    return tuple(design.outcome), columns, dict(design.set_aside), design.levels, design.ordered
