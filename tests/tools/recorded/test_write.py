"""What is written is read back as it was: values with all their digits, and what the columns mean."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.layers.schema import Layer
from vgo_agent.tools.recorded.formats.vgo import counted, measured
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns
from vgo_agent.tools.recorded.write import write
from vgo_agent.tools.statistics.values import LARGEST, countable

TARGETS = ("runs.parquet", "runs.csv", "folder")
MEANING = ("outcome", "lower_is_better", "levels", "most_us", "descriptions", "system", "usual", "group", "notes")
LAW = settings(derandomize=True, deadline=None)
FLOATS = st.one_of(st.none(), st.floats(-LARGEST, LARGEST).filter(countable))
WORDS = st.one_of(st.none(), st.text("abz019.,;\" '#\n", min_size=1).filter(lambda word: word.strip() == word))


def a_table() -> RecordedRuns:
    frame = pl.DataFrame(
        {
            "time": [0.1, 1 / 3, 2.0000000000000004],
            "kernel": ["5.10", "5.1", None],
            "faults": [3, None, 2**53 + 1],
            "smt": [True, False, None],
            "odd*name": [1.5, 2.5, 3.5],
        }
    )
    return RecordedRuns(
        frame,
        "trials.csv",
        "elsewhere",
        outcome="time",
        lower_is_better={"time": True},
        units={"time": "ms", "faults": "count"},
        roles={"time": "outcome", "kernel": "setting", "faults": "factor"},
        levels=frozenset({"smt"}),
        most_us={"faults": 100.0},
        descriptions={"faults": "Page faults: «minor», of a run."},
        system={"cpu.model": "Some CPU", "task": "tri als/1"},
        usual={"kernel": "5.1"},
        group=("kernel",),
        notes=("Something was dropped.",),
    )


def test_the_folder_that_was_written_as_sharp_does_is_read_as_its_one_run_log(tmp_path: Path) -> None:
    written = write(a_table(), tmp_path / "folder")
    assert sorted(path.suffix for path in (tmp_path / "folder").iterdir()) == [".csv", ".md"]
    whole, one = read(tmp_path / "folder"), read(written[0])
    assert whole.frame.equals(one.frame)
    assert whole.units == one.units and whole.roles == one.roles and whole.outcome == "time"


@pytest.mark.parametrize("target", TARGETS)
def test_a_table_comes_back_with_its_digits_types_and_meaning(tmp_path: Path, target: str) -> None:
    before = a_table()
    after = read(write(before, tmp_path / target)[0])
    assert after.frame.select(before.frame.columns).equals(before.frame)
    assert after.frame.select(before.frame.columns).schema == before.frame.schema
    for what in MEANING:
        assert getattr(after, what) == getattr(before, what), what
    assert before.units.items() <= after.units.items() and before.roles.items() <= after.roles.items()
    assert after.format == ("sharp" if target == "folder" else "elsewhere")


@LAW
@given(st.lists(st.tuples(FLOATS, st.integers(-(2**62), 2**62), WORDS), min_size=1, max_size=30))
def test_any_values_come_back_from_each_form(rows: list[tuple[float | None, int, str | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.Int64, "c": pl.String}, orient="row")
    before = RecordedRuns(frame, "x.csv", "x", units={"b": "count"})
    for target in TARGETS:
        with TemporaryDirectory() as folder:
            after = read(write(before, Path(folder) / target)[0]).frame.select("a", "b", "c")
        same = pl.DataFrame([column.cast(frame.schema[column.name]) for column in after])
        assert same.equals(frame), target


def test_the_layout_of_sharp_has_its_columns_and_its_page(tmp_path: Path) -> None:
    table, page = write(a_table(), tmp_path / "runlogs")
    assert (table.name, page.name) == ("tri-als-1.csv", "tri-als-1.md")
    header, first, *_ = table.read_text().splitlines()
    assert header.startswith("launch_id,repeat,rank,outer_time,time,kernel")
    launch, repeat, rank, outer, *_ = first.split(",")
    assert (len(launch), repeat, rank, float(outer)) == (8, "1", "0", 0.1e-3)
    blocks = [json.loads(part.split("```")[0]) for part in page.read_text().split("```json\n")[1:]]
    options, invariant, system, _ = blocks
    assert options["metrics"]["time"] == {
        "description": "time",
        "lower_is_better": True,
        "type": "numeric",
        "units": "milliseconds",
    }
    assert options["metrics"]["kernel"]["type"] == "string"
    assert invariant[launch] == {"task": "tri-als-1", "start": "normal", "concurrency": 1}
    assert system["cpu"] == {"model": "Some CPU"}


def test_a_log_of_sharp_written_again_stays_the_same(tmp_path: Path) -> None:
    header = "launch_id,completion_timestamp,repeat,rank,outer_time,inner_time"
    (tmp_path / "inc.csv").write_text(
        f"{header}\n12345678,1795188987.1,1,0,1.9,0.03\n12345678,1795188988.8,2,0,1.7,0.04\n"
    )
    before = read(tmp_path / "inc.csv")
    after = read(write(before, tmp_path / "again")[0])
    assert after.frame.with_columns(pl.col("launch_id").cast(pl.Int64)).equals(before.frame)
    assert (after.outcome, after.roles["completion_timestamp"]) == ("inner_time", "order")


def test_runs_of_vgo_agent_keep_what_their_layers_say(tmp_path: Path) -> None:
    columns = [
        {"name": "net.*.rx", "description": "Packets.", "unit": "count", "most_us": 50},
        {"name": "host", "description": "Where.", "unit": "", "role": "setting", "type": "text"},
    ]
    layer = Layer.model_validate({"key": "net", "description": "Net.", "columns": columns})
    frame = pl.DataFrame(
        {"order": [0, 1], "condition": ["baseline"] * 2, "pair": [-1, -1], "ok": [1, 0], "exit_code": [0, 1]}
        | {"survivors": [0, 0], "outcome": [1.5, 1.6], "wall_s": [2.5, 2.6], "layers": ["net", "net"]}
        | {"net.eth0.rx": [5, 6], "host": ["01", "02"]}
    )
    facts = {"subject": {"unit": "MB/s", "lower_is_better": False}, "machine": {"cpu": "X"}}
    before = counted(measured(frame, "bench", [layer], facts))
    assert before.frame.height == 1 and before.most_us == {"net.eth0.rx": 50}
    for target in TARGETS:
        after = read(write(before, tmp_path / target)[0])
        assert after.frame.select(frame.columns).equals(before.frame)
        assert (after.outcome, after.units["outcome"], after.lower_is_better) == ("outcome", "MB/s", {"outcome": False})
        assert after.usual == {"condition": "baseline"} and after.most_us == before.most_us
    assert pl.read_csv(tmp_path / "folder" / "bench.csv")["outer_time"].to_list() == [2.5]


def test_another_ending_and_the_source_itself_are_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("time\n1\n2\n")
    recorded = read(tmp_path / "runs.csv")
    with pytest.raises(VgoError, match="has no known ending: name it \\*.parquet or \\*.csv"):
        write(recorded, tmp_path / "runs.xlsx")
    for place in (tmp_path / "runs.csv", tmp_path):
        with pytest.raises(VgoError, match="which is never written over"):
            write(recorded, place)
    with pytest.raises(VgoError, match="cannot be written"):
        write(replace(recorded, source="gone.csv"), tmp_path / "nowhere" / "runs.csv")
    assert (tmp_path / "runs.csv").read_text() == "time\n1\n2\n"
