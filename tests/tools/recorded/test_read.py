"""Every format in: what each file says, and what was understood or dropped while reading it."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns


def test_a_plain_table_is_read_with_its_types_and_no_meaning(tmp_path: Path) -> None:
    recorded = written(tmp_path, "runs.csv", "time_s,faults,host\n1.5,10,a\n1.25,12,b\n")
    assert recorded.format == "csv"
    assert recorded.frame.rows() == [(1.5, 10, "a"), (1.25, 12, "b")]
    assert (recorded.outcome, dict(recorded.roles), dict(recorded.system), recorded.notes) == (None, {}, {}, ())


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_separator_and_the_ends_of_lines_are_found_out(tmp_path: Path, separator: str, ending: str) -> None:
    lines = ["time,count,text", "1.5,2,x y", "2.5,3,z"]
    recorded = written(tmp_path, "runs.txt", ending.join(line.replace(",", separator) for line in lines) + ending)
    assert recorded.frame.rows() == [(1.5, 2, "x y"), (2.5, 3, "z")]


def test_a_decimal_comma_is_read_where_semicolons_separate(tmp_path: Path) -> None:
    assert written(tmp_path, "runs.csv", "time;count\n1,5;2\n2,25;3\n").frame["time"].to_list() == [1.5, 2.25]


def test_a_compressed_table_is_told_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    for name in ("runs.csv.gz", "runs.csv"):
        (tmp_path / name).write_bytes(gzip.compress(b"time,count\n1.5,2\n"))
        assert read(tmp_path / name).frame.rows() == [(1.5, 2)]


def test_an_index_without_a_name_is_dropped_and_said(tmp_path: Path) -> None:
    recorded = written(tmp_path, "runs.csv", ",time\n0,1.5\n1,2.5\n")
    assert recorded.frame.columns == ["time"]
    assert recorded.notes == ("The first column has no name and counts the rows: left out.",)


def test_a_first_column_without_a_name_that_counts_nothing_stays(tmp_path: Path) -> None:
    assert written(tmp_path, "runs.csv", ",time\n7,1.5\n3,2.5\n").frame.columns == ["column_1", "time"]


def test_repeated_names_become_distinct_and_are_said(tmp_path: Path) -> None:
    recorded = written(tmp_path, "runs.csv", "time,a,a,a_2,a\n1,2,3,4,5\n")
    assert recorded.frame.rows(named=True) == [{"time": 1, "a": 2, "a_3": 3, "a_2": 4, "a_4": 5}]
    assert len(recorded.notes) == 1 and "names a 3 times" in recorded.notes[0]


def test_a_mark_before_the_header_is_no_part_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_bytes(b"\xef\xbb\xbftime,count\n1,2\n")
    assert read(tmp_path / "runs.csv").frame.columns == ["time", "count"]


def test_words_for_nothing_are_missing_values(tmp_path: Path) -> None:
    text = "time,misses\n1,NA\n2,<not supported>\n3,nan\n4,17\n5,\n"
    assert written(tmp_path, "runs.csv", text).frame["misses"].to_list() == [None, None, None, 17, None]


def test_a_type_that_shows_only_late_is_found(tmp_path: Path) -> None:
    rows = "".join(f"{number},1\n" for number in range(12_000))
    frame = written(tmp_path, "runs.csv", f"count,time\n{rows}0.5,1\nbroken,2\n").frame
    assert frame.height == 12_002 and frame["count"][-1] == "broken"


def test_empty_lines_are_no_runs(tmp_path: Path) -> None:
    recorded = written(tmp_path, "runs.csv", "time,count\n1,2\n\n3,4\n\n")
    assert recorded.frame.height == 2 and recorded.notes == ("2 empty lines were left out.",)


def test_a_header_that_comes_again_is_no_run_and_leaves_the_numbers_numbers(tmp_path: Path) -> None:
    recorded = written(tmp_path, "runs.csv", "time,faults\n1.5,2\n1.6,\ntime,faults\n1.7,5\n")
    assert recorded.frame.rows() == [(1.5, 2.0), (1.6, None), (1.7, 5.0)]
    assert recorded.notes == ("The header stands in the file 2 times: only rows of runs were read.",)


def test_columns_that_are_left_out_are_not_read_but_known(tmp_path: Path) -> None:
    pl.DataFrame({"time": [1.0, 2.0], "huge": [1, 2]}).write_parquet(tmp_path / "runs.parquet")
    recorded = read(tmp_path / "runs.parquet", leave_out=("huge", "absent"))
    assert (recorded.format, recorded.frame.columns, recorded.left_out) == ("parquet", ["time"], ("huge",))


SHARP_PAGE = """Experiment completed at 2026-01-01.

## Initial runtime options

```json
{"backend_names": ["local", "perf"], "task": "inc", "repeats": "MAX", "metrics": {
  "inner_time": {"description": "By the program", "lower_is_better": true, "units": "seconds"},
  "clock_rate": {"description": "Clock", "lower_is_better": false, "units": "GHz"}}}
```

## CSV field description

  * `launch_id` (string): Unique identifier.
  * `completion_timestamp` (float): End.
  * `repeat` (int): Iteration.
  * `rank` (int): MPI rank.
  * `outer_time` (float): outer_time.
  * `inner_time` (float): inner_time.
  * `clock_rate` (float): clock.

## Invariant parameters

Values are keyed by launch ID.

```json
{"aa": {"task": "inc", "size": 100}, "bb": {"task": "inc", "size": 200}}
```

## Initial system configuration

```json
{"cpu": {"model_name": "Some CPU"}, "gpu": {"vendor": "NVIDIA"}}
```
"""
SHARP_HEADER = "launch_id,completion_timestamp,repeat,rank,outer_time,inner_time"


def test_a_sharp_log_brings_units_directions_sweep_and_system_from_its_page(tmp_path: Path) -> None:
    rows = ["aa,1795188987.1,1,0,1.9455,0.0312,2.1", "bb,1795188988.8,1,0,1.7542,0.0304,2.2"]
    (tmp_path / "inc.md").write_text(SHARP_PAGE)
    recorded = written(tmp_path, "inc.csv", "\n".join([f"{SHARP_HEADER},clock_rate", *rows]))
    assert (recorded.format, recorded.outcome) == ("sharp", "inner_time")
    assert recorded.lower_is_better["clock_rate"] is False
    assert (recorded.units["inner_time"], recorded.units["clock_rate"]) == ("s", "GHz")
    assert recorded.roles["launch_id"] == "id" and recorded.roles["completion_timestamp"] == "order"
    assert recorded.roles["outer_time"] == "consequence" and recorded.roles["size"] == "setting"
    assert recorded.frame["size"].to_list() == ["100", "200"]
    assert recorded.system == {"cpu.model_name": "Some CPU", "backend_names": "local perf", "task": "inc"}


def test_the_page_of_a_sharp_log_stands_for_its_table(tmp_path: Path) -> None:
    (tmp_path / "inc.md").write_text(SHARP_PAGE)
    (tmp_path / "inc.csv").write_text(f"{SHARP_HEADER}\naa,1,1,0,1.9,0.03\naa,2,2,0,1.8,0.04\n")
    assert read(tmp_path / "inc.md").frame.height == 2


def test_rows_appended_with_more_fields_are_named_by_the_page(tmp_path: Path) -> None:
    (tmp_path / "inc.md").write_text(SHARP_PAGE)
    recorded = written(tmp_path, "inc.csv", f"{SHARP_HEADER}\naa,1,1,0,1.9,0.03\nbb,2,1,0,1.8,0.04,2.5\n")
    assert recorded.frame["clock_rate"].to_list() == [None, 2.5]
    assert any("1 rows were appended with 1 fields more" in note for note in recorded.notes)


def test_of_rows_that_neither_header_nor_page_fits_only_what_every_launch_has_is_read(tmp_path: Path) -> None:
    rows = ["aa,1,1,0,1.9,0.03", "bb,2,1,0,1.8,9,2.5,7", "cc,3,1,0,1.7"]
    recorded = written(tmp_path, "inc.csv", "\n".join([SHARP_HEADER, *rows]) + "\n")
    assert recorded.frame["outer_time"].to_list() == [1.9, 1.8, 1.7]
    assert recorded.frame["inner_time"].to_list() == [0.03, None, None]
    assert [note for note in recorded.notes if "appended" in note] == [
        f"1 rows were appended with {fields} than the header names: "
        "only SHARP's own columns are read of them, since nothing names them."
        for fields in ("2 fields more", "1 fields less")
    ]


SHARP_PROFILE = """\
launch_id,completion_timestamp,repeat,rank,outer_time,perf_time,cache_misses,page_faults,cpu_clock,clock_rate
0561eed6,1795189043.8,1,0,2.13,2.04,,9387.0,663.36,2.6
0561eed6,1795189045.8,2,0,2.11,2.01,,9389.0,662.36,2.7
"""


def test_a_profile_of_sharp_has_its_own_clocks_as_consequences_and_gaps_as_gaps(tmp_path: Path) -> None:
    (tmp_path / "inc-prof.md").write_text(SHARP_PAGE)
    recorded = written(tmp_path, "inc-prof.csv", SHARP_PROFILE)
    assert recorded.outcome == "outer_time" and recorded.units["clock_rate"] == "GHz"
    assert recorded.roles["perf_time"] == recorded.roles["cpu_clock"] == "consequence"
    assert "page_faults" not in recorded.roles and recorded.frame["cache_misses"].to_list() == [None, None]


def test_appended_fields_that_nothing_names_are_left_out_and_said(tmp_path: Path) -> None:
    recorded = written(tmp_path, "inc.csv", f"{SHARP_HEADER}\naa,1,1,0,1.9,0.03\nbb,2,1,0,1.8,0.04,2.5\n")
    assert recorded.frame.columns == SHARP_HEADER.split(",") and recorded.frame.height == 2
    assert any("nothing names them" in note for note in recorded.notes)
    assert any("no page inc.md" in note for note in recorded.notes)


def test_a_sharp_clock_that_never_moves_is_no_outcome(tmp_path: Path) -> None:
    recorded = written(tmp_path, "nope.csv", f"{SHARP_HEADER}\naa,1,1,0,0.31,0.0\naa,2,2,0,0.32,0.0\n")
    assert recorded.outcome == "outer_time"
    assert any("never varies" in note for note in recorded.notes) and any("10 ms" in note for note in recorded.notes)


def test_sharp_ranks_are_said_not_to_be_runs(tmp_path: Path) -> None:
    recorded = written(tmp_path, "mpi.csv", f"{SHARP_HEADER}\naa,1,1,0,0.31,0.1\naa,1,1,1,0.31,0.2\n")
    assert any("--group rank" in note for note in recorded.notes)


def pyperf(benchmarks: int = 1) -> dict[str, Any]:
    runs = [
        {"warmups": [[1, 0.5]], "metadata": {"date": "2026-01-01 00:00:00"}},
        {
            "values": [0.02, 0.03],
            "warmups": [[1, 0.5]],
            "metadata": {"cpu_freq": "2=3596 MHz, 3=1352 MHz", "load_avg_1min": 0.25, "uptime": 5.5, "duration": 1.0},
        },
    ]
    return {
        "benchmarks": [{"metadata": {"name": f"b{number}"}, "runs": runs} for number in range(benchmarks)],
        "metadata": {"hostname": "h", "loops": 8},
        "version": "1.0",
    }


def test_pyperf_values_are_rows_with_what_their_process_noted(tmp_path: Path) -> None:
    recorded = written(tmp_path, "b.json", json.dumps(pyperf()))
    assert (recorded.format, recorded.outcome, recorded.units["value"]) == ("pyperf", "value", "s")
    assert recorded.frame["value"].to_list() == [0.02, 0.03]
    assert recorded.frame["cpu_freq.3"].to_list() == [1352, 1352] and "cpu_freq.2" in recorded.levels
    assert recorded.roles["duration"] == "consequence" and recorded.roles["uptime"] == "id"
    assert recorded.system == {"hostname": "h", "loops": "8", "name": "b0"}
    assert recorded.notes[:2] == (
        "2 warm-up values were left out.",
        "Processes that only calibrated or warmed up were left out: 1.",
    )


def test_several_pyperf_benchmarks_are_told_apart(tmp_path: Path) -> None:
    recorded = written(tmp_path, "b.json", json.dumps(pyperf(2)))
    assert recorded.frame["benchmark"].to_list() == ["b0", "b0", "b1", "b1"]
    assert recorded.group == ("benchmark",) and any("each is a group" in note for note in recorded.notes)


def hyperfine(*commands: dict[str, Any]) -> str:
    return json.dumps(
        {"results": [{"command": "sleep 1", "mean": 1.0, "median": 1.0} | command for command in commands]}
    )


def test_hyperfine_times_are_rows_and_commands_a_setting(tmp_path: Path) -> None:
    one = {"command": "a", "times": [1.0, 1.1], "exit_codes": [0, 0], "memory_usage_byte": [5, 6]}
    two = {"command": "b", "times": [2.0], "exit_codes": [0], "parameters": {"threads": "4"}}
    recorded = written(tmp_path, "h.json", hyperfine(one, two))
    assert (recorded.format, recorded.outcome) == ("hyperfine", "time")
    assert recorded.frame["time"].to_list() == [1.0, 1.1, 2.0]
    assert recorded.frame["memory_usage_byte"].to_list() == [5, 6, None]
    assert recorded.roles["command"] == "setting" and recorded.roles["threads"] == "setting"


def test_failed_hyperfine_runs_are_left_out_unless_all_end_so(tmp_path: Path) -> None:
    some = written(tmp_path, "some.json", hyperfine({"times": [1.0, 9.0, 2.0], "exit_codes": [0, 1, None]}))
    assert some.frame["time"].to_list() == [1.0] and "2 runs" in some.notes[0]
    every = written(tmp_path, "every.json", hyperfine({"times": [1.0, 2.0], "exit_codes": [1, 1]}))
    assert every.frame.height == 2 and "kept" in every.notes[0]


VGO = """call,tool,batch,order,condition,pair,ok,exit_code,survivors,outcome,wall_s,minor_faults,last_cpu,user_s
c1,profile,,0,baseline,-1,1,0,0,20.0,0.03,100,0,0.01
c1,profile,,1,baseline,-1,0,1,0,5.0,0.03,100,0,0.01
c3,apply_mitigation,1,0,pin_to_cpu,0,1,0,0,19.0,0.03,90,1,0.01
"""


def test_a_run_folder_is_read_with_what_its_layers_say(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(VGO)
    facts = {"subject": {"unit": "ms", "lower_is_better": True}, "machine": {"cpu": "X"}}
    (tmp_path / "runs.md").write_text(f"# The runs\n\n```json\n{json.dumps(facts)}\n```\n")
    recorded = read(tmp_path)
    assert (recorded.format, recorded.outcome, recorded.units["outcome"]) == ("vgo-agent", "outcome", "ms")
    assert recorded.frame["outcome"].to_list() == [20.0, 19.0]
    assert recorded.notes == ("1 runs failed and do not count: left out.",)
    assert recorded.roles["user_s"] == "consequence" and recorded.roles["minor_faults"] == "factor"
    assert recorded.levels == {"minor_faults"} and recorded.most_us["minor_faults"] == 100
    assert recorded.system == {"machine.cpu": "X", "subject.unit": "ms", "subject.lower_is_better": "True"}
    assert recorded.usual == {"condition": "baseline"}


@pytest.mark.parametrize(
    ("metric", "longest", "role"),
    [("x (.*)", 20, "consequence"), ("x (.*)", 4000, "factor"), (None, 20, "factor")],
)
def test_the_digits_of_a_printed_metric_explain_nothing_in_our_own_table_either(
    metric: str | None, longest: int, role: str, tmp_path: Path
) -> None:
    first, *rows = VGO.splitlines()
    cells = ("write_chars", 15, 15, longest)
    (tmp_path / "runs.csv").write_text(
        "".join(f"{row},{cell}\n" for row, cell in zip((first, *rows), cells, strict=True))
    )
    start = {"body": {"kind": "run_start", "subject": {"unit": "ms", "lower_is_better": True, "metric": metric}}}
    (tmp_path / "transcript.jsonl").write_text(json.dumps(start) + "\n")
    assert read(tmp_path / "runs.csv").roles["write_chars"] == role


def test_a_diagnosis_that_never_ended_is_read_by_its_transcript(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(VGO)
    start = {"body": {"kind": "run_start", "subject": {"unit": "MB/s", "lower_is_better": False}}}
    (tmp_path / "transcript.jsonl").write_text(json.dumps(start) + "\n")
    recorded = read(tmp_path / "runs.csv")
    assert recorded.lower_is_better == {"outcome": False} and recorded.units["outcome"] == "MB/s"


def written(folder: Path, name: str, text: str) -> RecordedRuns:
    (folder / name).write_text(text, newline="")
    return read(folder / name)
