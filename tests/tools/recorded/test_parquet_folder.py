"""A folder of Parquet files is one table; where it is too large, a sample of it that is the same each time."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from vgo_agent.agent.cli import main
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.recorded.formats.parquet import all_rows, read_folder
from vgo_agent.tools.recorded.read import read


@pytest.fixture
def folder(tmp_path):
    """Three hosts, two files each, 1,000 runs a file."""
    rng = np.random.default_rng(4)
    for host in "abc":
        (tmp_path / f"host={host}").mkdir()
        for part in range(2):
            frame = pl.DataFrame({"time_s": rng.lognormal(0, 0.2, 1000), "switches": rng.poisson(5, 1000)})
            frame.write_parquet(tmp_path / f"host={host}" / f"{part}.parquet")
    return tmp_path


def test_all_files_are_one_table_with_the_folders_as_a_column(folder):
    recorded = read(folder)
    assert recorded.frame.shape == (6000, 3)
    assert recorded.frame["host"].value_counts()["count"].to_list() == [2000, 2000, 2000]
    assert recorded.whole is None


def test_a_sample_is_the_same_each_time_and_takes_as_much_of_every_part(folder):
    first, second = read_folder(folder, most_cells=3000), read_folder(folder, most_cells=3000)
    assert first.frame.equals(second.frame)
    assert first.frame.height == pytest.approx(1000, abs=150)
    assert min(first.frame["host"].value_counts()["count"]) > 250
    assert first.whole is not None and first.whole.rows == 6000
    assert "of 6,000 rows were drawn" in first.notes[1]


def test_what_is_said_of_all_rows_is_exact(folder):
    sample = read_folder(folder, most_cells=3000)
    assert sample.whole is not None
    every = read(folder).frame["time_s"].to_numpy()
    told = all_rows(sample.whole, "time_s")
    assert told.rows == 6000
    assert told.mean == pytest.approx(every.mean(), rel=1e-12)
    assert told.sd == pytest.approx(every.std(ddof=1), rel=1e-12)
    assert (told.low, told.high) == (every.min(), every.max())
    assert (told.p50, told.p95, told.p99) == pytest.approx(np.quantile(every, (0.5, 0.95, 0.99)), rel=1e-12)


def test_a_column_of_words_cannot_be_streamed(folder):
    sample = read_folder(folder, most_cells=3000)
    assert sample.whole is not None
    with pytest.raises(VgoError, match="host"):
        all_rows(sample.whole, "host")


def test_files_that_do_not_fit_together_are_refused(folder):
    pl.DataFrame({"time_s": ["a"]}).write_parquet(folder / "host=c" / "9.parquet")
    with pytest.raises(VgoError, match="no one table"):
        read(folder)


def test_analyze_takes_the_folder(folder, capsys):
    assert main(["analyze", str(folder), "--outcome", "time_s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 6000 and found["format"] == "parquet folder"


def test_a_whole_disk_is_named_by_mistake(capsys, tmp_path):
    for number in range(100):
        (tmp_path / f"{number}").mkdir()
        for within in range(100):
            (tmp_path / f"{number}/{within}").mkdir()
    assert main(["analyze", "--read-only", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("has more than 10,000 folders in it: name the one with the tables.\n")
