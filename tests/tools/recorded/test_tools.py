"""What perf stat and Google Benchmark write, as recorded from them; hyperfine and pyperf with several commands."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.recorded.read import read
from vgo_agent.tools.recorded.recorded import RecordedRuns

PERF = """\
# started on Sat Nov 21 01:08:38 2026

21528886,ns,duration_time,21528886,100.00,26.100,G/sec
0.82,msec,task-clock,824877,100.00,0.038,CPUs utilized
74,,page-faults,824877,100.00,89.710,K/sec
<not supported>,,cycles,0,100.00,,
901,,cache-misses,412438,50.00,,
,,,,,,0.9,insn per cycle
# started on Sat Nov 21 01:08:39 2026

21143461,ns,duration_time,21143461,100.00,25.865,G/sec
0.97,msec,task-clock,817447,100.00,0.039,CPUs utilized
<not counted>,,page-faults,0,100.00,,
<not supported>,,cycles,0,100.00,,
950,,cache-misses,612438,75.00,,
"""
INTERVALS = """\
# started on Sat Nov 21 01:08:38 2026

     0.050103785,0.78,msec,task-clock,777859,100.00,0.016,CPUs utilized
     0.050103785,76,,page-faults,777859,100.00,97.704,K/sec
     0.100308625,<not counted>,msec,task-clock,0,100.00,,
     0.100308625,5,,page-faults,54250,100.00,0.000,/sec
"""
PERF_JSON = """\
# started on Sat Nov 21 01:08:38 2026

{"counter-value" : "21191639.000000", "unit" : "ns", "event" : "duration_time", "event-runtime" : 1, "pcnt-running" : 100.00}
{"counter-value" : "<not supported>", "unit" : "", "event" : "cycles", "event-runtime" : 0, "pcnt-running" : 100.00}
{"counter-value" : "74.000000", "unit" : "", "event" : "page-faults", "event-runtime" : 820913, "pcnt-running" : 40.00}
{"metric-value" : 25.814720, "metric-unit" : "G/sec"}
# started on Sat Nov 21 01:08:38 2026

{"counter-value" : "21195012.000000", "unit" : "ns", "event" : "duration_time", "event-runtime" : 1, "pcnt-running" : 100.00}
{"counter-value" : "75.000000", "unit" : "", "event" : "page-faults", "event-runtime" : 820913, "pcnt-running" : 60.00}
"""  # noqa: E501


def test_each_run_appended_by_perf_stat_is_a_row(tmp_path: Path) -> None:
    recorded = written(tmp_path, PERF)
    assert (recorded.format, recorded.outcome, recorded.units["duration_time"]) == ("perf stat", "duration_time", "ns")
    assert recorded.frame["duration_time"].to_list() == [21528886, 21143461]
    assert recorded.frame["task-clock"].to_list() == [0.82, 0.97] and recorded.units["task-clock"] == "ms"
    assert recorded.roles == {"duration_time": "outcome", "task-clock": "consequence", "cycles": "consequence"}


def test_what_perf_could_not_count_is_absent_and_what_it_extrapolated_is_said(tmp_path: Path) -> None:
    recorded = written(tmp_path, PERF)
    assert recorded.frame["cycles"].to_list() == [None, None] and recorded.frame["page-faults"].to_list() == [74, None]
    assert recorded.notes == (
        "perf could not count cycles here: absent, not 0.",
        "cache-misses was counted only 50 to 75 % of the time, the rest is extrapolated: "
        "give perf fewer events at once.",
    )


def test_perf_stat_in_json_is_read_as_in_csv(tmp_path: Path) -> None:
    recorded = written(tmp_path, PERF_JSON)
    assert recorded.frame.columns == ["duration_time", "cycles", "page-faults"]
    assert recorded.frame["page-faults"].to_list() == [74, 75] and recorded.frame["cycles"].to_list() == [None, None]
    assert any("40 to 60 %" in note for note in recorded.notes)


def test_runs_without_the_line_above_them_are_told_by_an_event_that_comes_again(tmp_path: Path) -> None:
    bare = "".join(line for line in PERF.splitlines(keepends=True) if line.strip() and not line.startswith("#"))
    assert written(tmp_path, bare).frame.equals(written(tmp_path, PERF).frame)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_separator_of_perf_stat_is_found_out(tmp_path: Path, mark: str) -> None:
    assert written(tmp_path, PERF.replace(",", mark)).frame.equals(written(tmp_path, PERF).frame)


def test_intervals_are_rows_and_said_to_be_no_runs(tmp_path: Path) -> None:
    recorded = written(tmp_path, INTERVALS)
    assert recorded.frame["interval_end"].to_list() == [0.050103785, 0.100308625]
    assert recorded.frame["page-faults"].to_list() == [76, 5] and recorded.frame["task-clock"].to_list() == [0.78, None]
    assert recorded.outcome is None and "not a run: 2 intervals" in recorded.notes[-1]
    again = written(tmp_path, INTERVALS + INTERVALS)
    assert again.frame.height == 4 and "intervals of several runs follow each other" in again.notes[-1]


def test_counts_of_each_cpu_are_columns_and_means_of_runs_are_flagged(tmp_path: Path) -> None:
    cpus = written(tmp_path, "CPU0,26,,context-switches,120198355,100.00,,\nCPU1,27,,context-switches,1,100.00,,\n")
    assert cpus.frame.rows(named=True) == [{"context-switches.CPU0": 26, "context-switches.CPU1": 27}]
    means = written(tmp_path, "0.83;msec;task-clock;1.33%;826477;100.00;0.074;CPUs utilized\n")
    assert "means over several runs" in means.notes[0] and means.frame["task-clock"].to_list() == [0.83]


def test_a_table_of_numbers_is_not_taken_for_perf_stat(tmp_path: Path) -> None:
    recorded = written(tmp_path, "value,unit,event,time,share\n1.5,ms,task-clock,100,100.00\n2.5,ms,faults,9,99.5\n")
    assert recorded.format == "csv" and recorded.frame.height == 2


@pytest.mark.parametrize("form", ["-x,", "-j"])
def test_what_perf_writes_here_is_read(tmp_path: Path, form: str) -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed (package linux-perf)")
    path = tmp_path / "perf.out"
    for _ in range(2):
        command = ["perf", "stat", form, "--append", "-o", str(path), "-e", "duration_time,page-faults", "true"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"perf stat does not run here: {done.stderr.strip()[:200]}")
    recorded = read(path)
    assert recorded.frame.height == 2 and recorded.outcome == "duration_time"
    assert (recorded.frame["duration_time"] > 0).all() and (recorded.frame["page-faults"] > 0).all()


def benchmark(*repetitions: dict[str, Any]) -> str:
    shared = {"run_type": "iteration", "threads": 1, "iterations": 100, "time_unit": "ns"}
    context = {"host_name": "vm", "caches": [{"level": 1}], "cpu_scaling_enabled": False}
    return json.dumps({"context": context, "benchmarks": [shared | one for one in repetitions]})


def sums(name: str, *times: float, **more: Any) -> list[dict[str, Any]]:
    shared = {"name": name, "run_name": name, "cpu_time": 1.0, **more}
    return [{**shared, "repetition_index": place, "real_time": time} for place, time in enumerate(times)]


def test_repetitions_of_google_benchmark_are_rows_with_rates_and_counters(tmp_path: Path) -> None:
    mean = {"name": "BM_a_mean", "run_name": "BM_a", "run_type": "aggregate", "real_time": 2.0}
    text = benchmark(*sums("BM_a", 1.5, 2.5, items_per_second=7.0, misses=3), mean)
    recorded = written(tmp_path, text)
    assert (recorded.format, recorded.outcome, recorded.units["real_time"]) == ("google-benchmark", "real_time", "ns")
    assert recorded.frame["real_time"].to_list() == [1.5, 2.5] and recorded.frame["misses"].to_list() == [3.0, 3.0]
    assert recorded.lower_is_better["items_per_second"] is False and "misses" not in recorded.roles
    assert recorded.system == {"host_name": "vm", "cpu_scaling_enabled": "False"} and recorded.group == ()
    assert recorded.notes == ("1 aggregates (mean, median, ...) were left out.",)


def test_several_google_benchmarks_are_groups_in_one_unit(tmp_path: Path) -> None:
    failed = sums("BM_c", 0.0, error_occurred=True)
    text = benchmark(*sums("BM_a", 1.5, 2.5), *sums("BM_b", 3.0, 4.0, time_unit="us", threads=2), *failed)
    recorded = written(tmp_path, text)
    assert recorded.group == ("benchmark",) and recorded.frame["real_time"].to_list() == [1.5, 2.5, 3000, 4000]
    assert recorded.roles["threads"] == "setting" and recorded.units["real_time"] == "ns"
    assert any("1 repetitions failed or were skipped: left out (BM_c)" in note for note in recorded.notes)


def test_aggregates_alone_are_refused_with_the_option_that_records_runs(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="holds aggregates only: record with --benchmark_repetitions=N"):
        written(tmp_path, benchmark({"name": "BM_a_mean", "run_type": "aggregate", "real_time": 1.0}))


def hyperfine(*commands: dict[str, Any]) -> str:
    return json.dumps({"results": [{"mean": 1.0} | command for command in commands]})


def test_only_a_command_that_never_worked_keeps_its_failed_runs(tmp_path: Path) -> None:
    fails = {"command": "grep x", "times": [1.0, 1.1], "exit_codes": [1, 1]}
    works = {"command": "sort", "times": [2.0, 2.1, 9.0], "exit_codes": [0, 0, None]}
    recorded = written(tmp_path, hyperfine(fails, works))
    assert recorded.frame["time"].to_list() == [1.0, 1.1, 2.0, 2.1]
    assert recorded.notes[0].startswith("1 runs ended") and "Every run of `grep x` ended" in recorded.notes[1]


def test_where_parameters_tell_the_commands_apart_they_are_the_settings(tmp_path: Path) -> None:
    commands = [{"command": f"sleep {n}", "times": [n, n], "parameters": {"n": str(n)}} for n in (1, 2)]
    recorded = written(tmp_path, hyperfine(*commands))
    assert (recorded.roles["command"], recorded.roles["n"]) == ("id", "setting")


def test_pyperf_benchmarks_in_different_units_keep_their_own(tmp_path: Path) -> None:
    runs = [{"values": [1.0, 2.0], "metadata": {"load": 0.5}}]
    seconds = {"metadata": {"name": "a"}, "runs": runs}
    space = {"metadata": {"name": "b", "unit": "byte", "load": 0.7}, "runs": [{"values": [5e6]}]}
    recorded = written(tmp_path, json.dumps({"benchmarks": [seconds, space]}))
    assert recorded.frame["unit"].to_list() == ["s", "s", "bytes"] and "value" not in recorded.units
    assert recorded.frame["load"].to_list() == [0.5, 0.5, 0.7]


def written(folder: Path, text: str) -> RecordedRuns:
    (folder / "out.txt").write_text(text)
    return read(folder / "out.txt")
