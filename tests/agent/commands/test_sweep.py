"""sweep: cells in rounds through the front door; impossible ones are kept, a killed one goes on."""

import csv
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from vgo_agent.agent.cli import main
from vgo_agent.tools.recorded.read import read

COMMAND = Path(sys.executable).with_name("vgo-agent")
COUNTS = """\
#!/bin/sh
read n < count
n=$((n + 1))
echo $n > count
echo "value $((1000 + ($1 * ((n * n * 31 + n * 7919) % 101))))"
"""
"""Its spread grows with its argument, by decree and by count."""
SPACE: dict[str, Any] = {
    "metric": "value ([0-9.]+)",
    "unit": "ms",
    "parameters": {"size": {"levels": [1, 3], "unit": "MB"}, "mode": {"levels": ["x", "y"]}},
    "repetitions": {"least": 5, "most": 6},
}


@pytest.fixture
def answers(called_here):
    return partial(called_here, "sweep")


def written(folder: Path, space: dict[str, Any], text: str = COUNTS) -> list[str]:
    (folder / "space.yaml").write_text(yaml.safe_dump(space, sort_keys=False))
    (folder / "program.sh").write_text(text)
    (folder / "program.sh").chmod(0o755)
    (folder / "count").write_text("0\n")
    return ["space.yaml", "--json", "-q"]


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


FILES = ("runs.csv", "cells.csv", "report.md", "report.html", "sweep.svg")
PROGRAM = ("--", "./program.sh", "{size}", "{mode}")


def test_every_cell_is_run_in_every_round_and_the_order_is_random(answers, tmp_path):
    code, out, err = answers(*written(tmp_path, SPACE), *PROGRAM)
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["cells"], answer["runs"], answer["failed"]) == (4, 24, 0)
    assert answer["best"]["sd"]["values"]["size"] == 1
    assert sorted(answer["files"]) == sorted(f"vgo-runs/sweep-space/{name}" for name in FILES)
    assert all((tmp_path / name).exists() for name in answer["files"])
    runs = table(tmp_path / "vgo-runs/sweep-space/runs.csv")
    rounds = [[run["condition"] for run in runs if run["round"] == str(number)] for number in range(6)]
    assert all(sorted(one) == ["c0001", "c0002", "c0003", "c0004"] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1
    assert [int(run["order"]) for run in runs] == list(range(24))


def test_the_list_of_runs_names_it_with_its_time(answers, capsys, tmp_path):
    assert answers(*written(tmp_path, SPACE), "--runs", "1", *PROGRAM)[0] == 0
    assert main(["runs", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert one["verdict"].startswith("sweep: ") and one["when"] and one["command"]


def test_it_answers_from_its_folder_until_the_answer_is_gone(answers, capsys, tmp_path):
    assert answers(*written(tmp_path, SPACE), *PROGRAM)[0] == 0
    folder = tmp_path / "vgo-runs/sweep-space"
    assert main(["ask", str(folder), "why"]) == 0
    assert "Best SD seen: " in capsys.readouterr().out
    (folder / "answer.json").unlink()
    assert main(["ask", str(folder), "why"]) == 1
    assert "has no answer yet: `vgo-agent resume" in capsys.readouterr().err


def test_the_other_commands_read_the_runs_with_their_settings(answers, tmp_path):
    assert answers(*written(tmp_path, SPACE), *PROGRAM)[0] == 0
    folder = tmp_path / "vgo-runs/sweep-space"
    recorded = read(folder)
    assert {name for name, role in recorded.roles.items() if role == "setting"} == {"size", "mode"}
    assert (recorded.outcome, recorded.units["outcome"], recorded.units["size"]) == ("outcome", "ms", "MB")
    compared = ("--condition", "size=1,3", "--metric", "outcome")
    assert main(["compare", str(folder), *compared]) == 0
    assert main(["analyze", str(folder)]) == 0


def test_an_impossible_cell_is_kept_with_its_reason_and_the_others_run(answers, tmp_path):
    space = {**SPACE, "parameters": {"size": {"levels": [1, 3]}, "cpus": {"levels": ["0", "4095"], "to": "affinity"}}}
    words = (*written(tmp_path, space), "--", "./program.sh", "{size}")
    code, out, err = answers(*words)
    assert code == 0, err
    answer = json.loads(out)
    assert [one["values"]["cpus"] for one in answer["impossible"]] == ["4095", "4095"]
    cells = table(tmp_path / "vgo-runs/sweep-space/cells.csv")
    assert all("CPUs 4095 are not among those" in cell["reason"] for cell in cells if cell["cpus"] == "4095")
    assert all(int(cell["n"]) == 6 for cell in cells if cell["cpus"] == "0")
    failed = [run for run in table(tmp_path / "vgo-runs/sweep-space/runs.csv") if run["ok"] == "0"]
    assert len(failed) == 2, "a cell that cannot be begun is tried once"


def test_a_program_that_fails_in_one_cell_fails_there_only(answers, tmp_path):
    text = '#!/bin/sh\n[ "$1" = 3 ] && { echo "no room" >&2; exit 9; }\necho "value $1"\n'
    code, out, _ = answers(*written(tmp_path, SPACE, text), *PROGRAM)
    answer = json.loads(out)
    assert code == 0
    assert {one["values"]["size"] for one in answer["impossible"]} == {3}
    assert "3 of 3 runs failed" in answer["impossible"][0]["reason"] and "no room" in answer["impossible"][0]["reason"]


def test_where_no_cell_can_be_run_it_says_why(answers, tmp_path):
    space = {**SPACE, "parameters": {"clock": {"levels": [1], "to": "frequency"}}}
    words = written(tmp_path, space)
    if Path("/sys/devices/system/cpu/cpufreq/policy0").exists():
        pytest.skip("this machine has a clock to set")
    code, out, err = answers(*words, "--allow", "system", "--", "./program.sh", "1")
    assert code == 1
    assert json.loads(out)["cells"] == 1
    assert err.startswith("vgo-agent: No cell could be run: clock: ")


def test_one_level_and_equal_runs_are_enough_at_once(answers, tmp_path):
    space = {**SPACE, "parameters": {"size": {"levels": [2]}}}
    code, out, _ = answers(*written(tmp_path, space, "#!/bin/sh\necho value 7\n"), "--", "./program.sh", "{size}")
    answer = json.loads(out)
    assert code == 0
    assert (answer["cells"], answer["enough"], answer["runs"]) == (1, 1, 5)


def test_duplicates_and_what_is_forbidden_are_dropped_and_told(answers, tmp_path):
    space = {**SPACE, "where": ["size < 3 or mode == 'x'"]}
    space["parameters"] = {**SPACE["parameters"], "size": {"levels": [1, 1.0, 3]}}
    code, out, _ = answers(*written(tmp_path, space), *PROGRAM)
    answer = json.loads(out)
    assert code == 0
    assert answer["cells"] == 3
    assert answer["dropped"] == [
        "size has levels twice, 1 too many: dropped",
        "1 cells are left out, since `where` does not hold of them",
    ]


def test_levels_may_stand_on_the_command_line(answers, tmp_path):
    written(tmp_path, SPACE)
    few = ("--metric", "value ([0-9.]+)", "--min-runs", "2", "--max-runs", "2", "--json", "-q")
    code, out, err = answers("size=1,3 mode=x", *few, *PROGRAM)
    answer = json.loads(out)
    assert (code, answer["cells"], answer["runs"]) == (0, 2, 4), err
    assert {row["size"] for row in table(tmp_path / "vgo-runs/sweep-size-mode/runs.csv")} == {"1", "3"}


def test_one_cell_alone_is_pointed_out(answers, tmp_path):
    written(tmp_path, SPACE)
    words = ("--metric", "value ([0-9.]+)", "--min-runs", "2", "--max-runs", "2", "-q", *PROGRAM[:-1])
    code, out, err = answers("size=1", *words)
    assert code == 0, err
    assert "give a parameter two levels or more" in " ".join(out.split())


def test_the_environment_reaches_the_program(answers, tmp_path):
    text = '#!/bin/sh\necho "value $MY.$OMP_NUM_THREADS"\n'
    space = {
        **SPACE,
        "parameters": {"my": {"levels": [4], "environment": "MY"}, "team": {"levels": [2], "to": "threads"}},
    }
    assert answers(*written(tmp_path, space, text), "--", "./program.sh")[0] == 0
    assert {run["outcome"] for run in table(tmp_path / "vgo-runs/sweep-space/runs.csv")} == {"4.2"}


def test_a_budget_ends_it_and_more_of_it_goes_on(answers, tmp_path):
    words = written(tmp_path, SPACE)
    _, out, _ = answers(*words, "--runs", "10", *PROGRAM)
    first = json.loads(out)
    assert (first["ended"], first["runs"]) == ("the budget of 10 runs is spent", 10)
    log = (tmp_path / "vgo-runs/sweep-space/log.jsonl").read_text()
    _, out, _ = answers(*words, *PROGRAM)
    assert json.loads(out)["runs"] == 24
    assert (tmp_path / "vgo-runs/sweep-space/log.jsonl").read_text().startswith(log)


def test_another_space_in_the_same_folder_is_refused(answers, tmp_path):
    words = written(tmp_path, SPACE)
    assert answers(*words, *PROGRAM)[0] == 0
    written(tmp_path, {**SPACE, "parameters": {**SPACE["parameters"], "size": {"levels": [1, 2]}}})
    code, _, err = answers(*words, *PROGRAM)
    assert code == 1
    assert "holds a sweep with another parameters: give this one a --name of its own" in err
    assert answers(*words, "--name", "second", *PROGRAM)[0] == 0


def test_a_killed_sweep_goes_on_as_it_would_have_gone(answers, tmp_path):
    slow = COUNTS.replace("read n", "sleep 0.05\nread n", 1)
    words = written(tmp_path, SPACE, slow)
    log = tmp_path / "vgo-runs/sweep-space/log.jsonl"
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with subprocess.Popen(
        [COMMAND, "sweep", *words, *PROGRAM], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
    ) as killed:
        deadline = time.monotonic() + 120
        while not (log.exists() and log.read_text().count("\n") >= 7):
            assert time.monotonic() < deadline and killed.poll() is None
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    before = log.read_text()
    assert before.count("\n") < 24
    code, out, err = answers(*words, *PROGRAM)
    assert code == 0, err
    assert json.loads(out)["runs"] == 24
    assert log.read_text().startswith(before[: before.rindex("\n") + 1])
    resumed = [(run["condition"], run["round"]) for run in table(tmp_path / "vgo-runs/sweep-space/runs.csv")]
    assert answers(*words, "--name", "whole", *PROGRAM)[0] == 0
    whole = [(run["condition"], run["round"]) for run in table(tmp_path / "vgo-runs/sweep-whole/runs.csv")]
    assert resumed == whole


@pytest.mark.slow
def test_a_run_that_a_killed_sweep_left_is_ended_first(answers, tmp_path):
    noted = tmp_path / "vgo-runs/sweep-space/child.pid"
    text = "#!/bin/sh\n[ -e calm ] || { echo $$ > pid; exec sleep 100; }\n"
    words = written(tmp_path, {**SPACE, "metric": None, "unit": ""}, text)
    with subprocess.Popen(
        [COMMAND, "sweep", *words, *PROGRAM], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as killed:
        deadline = time.monotonic() + 120
        while not noted.exists() or not noted.read_text().strip() or not (tmp_path / "pid").exists():
            assert time.monotonic() < deadline and killed.poll() is None
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    left = Path("/proc", noted.read_text().strip())
    assert left.exists()
    (tmp_path / "calm").touch()
    assert answers(*words, *PROGRAM)[0] == 0
    assert not left.exists() or "State:\tZ" in (left / "status").read_text()


def test_a_layer_adds_its_columns(answers, tmp_path):
    code, _, err = answers(*written(tmp_path, SPACE), "--layer", "process", *PROGRAM)
    assert code == 0, err
    recorded = read(tmp_path / "vgo-runs/sweep-space")
    assert recorded.roles["minor_faults"] == "factor"
    assert recorded.frame["minor_faults"].null_count() == 0


@pytest.mark.slow
def test_what_ctrl_c_left_is_in_the_tables_of_the_command_that_goes_on(answers, tmp_path):
    words = written(tmp_path, SPACE, COUNTS.replace("read n", "sleep 0.05\nread n", 1))
    log = tmp_path / "vgo-runs/sweep-space/log.jsonl"
    with subprocess.Popen([COMMAND, "sweep", *words, *PROGRAM], cwd=tmp_path, stdout=subprocess.PIPE) as stopped:
        deadline = time.monotonic() + 120
        while not (log.exists() and log.read_text().count("\n") >= 3):
            assert time.monotonic() < deadline and stopped.poll() is None
            time.sleep(0.01)
        stopped.send_signal(signal.SIGINT)
        out, _ = stopped.communicate(timeout=60)
    kept = log.read_text().count("\n")
    assert (stopped.returncode, json.loads(out)["error"].partition(";")[0]) == (130, "stopped by Ctrl-C")
    assert not (tmp_path / "vgo-runs/sweep-space/runs.csv").exists()
    code, out, err = answers(*words, *PROGRAM)
    assert code == 0, err
    assert len(table(tmp_path / "vgo-runs/sweep-space/runs.csv")) > kept >= 3


def test_an_adaptive_design_goes_where_the_response_is_best(answers, tmp_path):
    space = {**SPACE, "repetitions": {"least": 5, "most": 5}, "parameters": {"size": {"range": {"low": 1, "high": 50}}}}
    space["parameters"]["size"]["range"]["integer"] = True
    space["design"] = {"kind": "adaptive", "cells": 9, "start": 5, "batch": 2}
    code, out, err = answers(*written(tmp_path, space), "--", "./program.sh", "{size}")
    assert code == 0, err
    cells = table(tmp_path / "vgo-runs/sweep-space/cells.csv")
    assert [int(cell["batch"]) for cell in cells] == [0] * 5 + [1, 1, 2, 2]
    assert all("expected improvement" in cell["why"] for cell in cells[5:])
    assert json.loads(out)["best"]["sd"]["values"]["size"] <= 10
    assert min(int(cell["size"]) for cell in cells[5:]) < min(int(cell["size"]) for cell in cells[:5])


def test_system_settings_need_consent_are_proved_and_put_back(answers, tmp_path, monkeypatch):
    knob = Path("/proc/sys/vm/swappiness")
    if not os.access(knob, os.W_OK) or os.geteuid():
        pytest.skip("needs root")
    before = knob.read_text()
    text = f"#!/bin/sh\necho value $(cat {knob})\n"
    space = {**SPACE, "parameters": {"swap": {"levels": ["off", "on"], "mitigation": "swappiness_low"}}}
    words = written(tmp_path, space, text)
    code, _, err = answers(*words, "--", "./program.sh")
    assert code == 1
    assert "swap may not be changed (it changes the system" in err and "--allow system" in err
    monkeypatch.setattr("sys.stdin", io.StringIO('{"answer": "once"}\n'))
    code, out, err = answers(*words, "--json-lines", "--", "./program.sh")
    assert code == 0, err
    question, verdict = map(json.loads, out.splitlines())
    assert [one["answer"] for one in question["question"]["answers"]] == ["once", "no"] and verdict["cells"]
    cells = {cell["swap"]: cell["mean"] for cell in table(tmp_path / "vgo-runs/sweep-space/cells.csv")}
    assert cells == {"off": f"{float(before)}", "on": "10.0"}
    assert knob.read_text() == before
    assert main(["restore"]) == 0


def test_a_setting_that_a_killed_sweep_left_is_put_back_and_the_sweep_goes_on(answers, tmp_path):
    knob, noted = Path("/proc/sys/vm/swappiness"), tmp_path / "vgo-runs/sweep-space/child.pid"
    if not os.access(knob, os.W_OK) or os.geteuid():
        pytest.skip("needs root")
    before = knob.read_text()
    text = f"#!/bin/sh\n[ -e calm ] || sleep 100\necho value $(cat {knob})\n"
    parameters = {"swap": {"levels": ["on"], "mitigation": "swappiness_low"}}
    words = (*written(tmp_path, {**SPACE, "parameters": parameters}, text), "--allow", "system", "--", "./program.sh")
    with subprocess.Popen(
        [COMMAND, "sweep", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as killed:
        deadline = time.monotonic() + 120
        while not noted.exists() or not noted.read_text().strip():
            assert time.monotonic() < deadline and killed.poll() is None
            time.sleep(0.01)
        assert knob.read_text() == "10\n"
        killed.send_signal(signal.SIGKILL)
    (tmp_path / "calm").touch()
    code, _, err = answers(*words)
    assert code == 0, err
    assert {run["outcome"] for run in table(tmp_path / "vgo-runs/sweep-space/runs.csv")} == {"10.0"}
    assert knob.read_text() == before


@pytest.mark.parametrize(("said", "code"), [("1", 0), pytest.param("2", 1, marks=pytest.mark.slow)])
def test_somebody_at_the_terminal_is_asked(tmp_path, said, code):
    parameters = {"swap": {"levels": ["on"], "mitigation": "swappiness_low"}}
    space = {**SPACE, "parameters": parameters, "repetitions": {"least": 2, "most": 2}}
    if not os.access("/proc/sys/vm/swappiness", os.W_OK) or os.geteuid():
        pytest.skip("needs root")
    words = written(tmp_path, space, "#!/bin/sh\necho value 1\n")[:1]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.chdir(tmp_path)
        os.execv(COMMAND, [str(COMMAND), "sweep", *words, "--", "./program.sh"])
    told = b""
    while b"a question about it: " not in told:
        told += os.read(terminal, 4096)
    os.write(terminal, said.encode() + b"\n")
    with suppress(OSError):  # the child closes it
        while more := os.read(terminal, 4096):
            told += more
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
    assert "This sweep changes more than the program" in told.decode()
    assert (tmp_path / "vgo-runs/sweep-space/runs.csv").exists() is (code == 0)


def test_a_quota_of_a_control_group_holds_the_run(answers, tmp_path):
    from vgo_agent.tools.mitigation.run_group import places

    if "cpu" not in places():
        pytest.skip("no control group can be made here")
    text = "#!/bin/sh\ni=0\nwhile [ $i -lt 60000 ]; do i=$((i + 1)); done\n"
    space = {"parameters": {"quota": {"levels": [10, 100], "to": "cpu_quota"}}, "repetitions": {"least": 3, "most": 3}}
    code, _, err = answers(*written(tmp_path, space, text), "--allow", "system", "--", "./program.sh")
    assert code == 0, err
    means = {cell["quota"]: float(cell["mean"]) for cell in table(tmp_path / "vgo-runs/sweep-space/cells.csv")}
    assert means["10"] > 1.5 * means["100"]


def test_what_asks_for_consent_and_previews_loads_nothing_that_fits_or_draws():
    code = "import sys, vgo_agent.agent.sweep.request; sys.exit(bool({'sklearn', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_level_is_written_as_it_was_given(answers, tmp_path):
    space = {**SPACE, "parameters": {"size": {"levels": [1, 65536]}}}
    assert answers(*written(tmp_path, space), "--runs", "4", "--", "./program.sh", "{size}")[0] == 0
    report = (tmp_path / "vgo-runs/sweep-space/report.md").read_text()
    assert "| c0002 | 65536 |" in report


def test_a_dry_run_shows_cells_and_writes_and_touches_nothing(answers, tmp_path):
    space = {**SPACE, "parameters": {"size": {"levels": [1, 2]}, "thp": {"mitigation": "thp_always"}}}
    words = written(tmp_path, space)
    code, out, _ = answers(*words, "--dry-run", "--", "./program.sh", "{size}")
    shown = json.loads(out)
    assert code == 0
    assert [cell["values"] for cell in shown["cells"]][1] == {"size": 1, "thp": "on"}
    assert shown["cells"][0]["command"] == ["./program.sh", "1"]
    assert shown["needs_consent"] == ["thp"]
    assert not (tmp_path / "vgo-runs").exists()
    assert (tmp_path / "count").read_text() == "0\n"


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        ({"parameters": {}}, (), "parameters"),
        ({"parameters": {"size": {"levels": []}}}, (), "give levels or a range"),
        ({"parameters": {"size": {"levels": ["yes"], "to": "nowhere"}}}, (), "parameters.size.to"),
        ({"parameters": {"size": {"levels": [True]}}}, (), "put such levels in quotes"),
        ({"parameters": {"order": {"levels": [1]}}}, (), "call the parameter order_2"),
        ({"parameters": {"other": {"levels": [1]}}}, (), "other goes nowhere: write {other} in the command"),
        ({"parameters": {"size": {"range": {"low": 3, "high": 1}}}}, (), "low is not below high"),
        ({"where": ["sise < 3"]}, (), "names sise, which is not known here"),
        ({"where": ["size > 99"]}, (), "`where` forbids every combination"),
        ({"cheese": 1}, (), "cheese: is not a known key"),
        ({}, ("--within", "0.5"), "repetitions.within"),
        ({}, ("--min-runs", "9"), "least is more than most"),
        ({}, ("--layer", "all"), "name the layers of a sweep one by one"),
        ({}, ("--name", "../x"), "is no name of a folder"),
        ({}, ("--per-iteration", "csv"), "A sweep judges whole runs: leave out --per-iteration"),
        ({"parameters": {"m": {"mitigation": "cheese"}}}, (), "There is no mitigation 'cheese'"),
        ({"parameters": {"m": {"mitigation": "omp_threads", "parameter": "x", "levels": [1]}}}, (), "no parameter x"),
    ],
)
def test_what_is_not_understood_is_refused_in_one_sentence(answers, tmp_path, change, words, said):
    code, _, err = answers(*written(tmp_path, {**SPACE, **change}), *words, *PROGRAM)
    assert code == 1
    assert said in err and len(err.splitlines()) == 1
    assert not (tmp_path / "vgo-runs").exists()


def test_a_missing_file_names_those_that_ship(answers):
    code, _, err = answers("cheese", "--", "true")
    assert code == 1
    assert "cpu, fio, fio-modes, threads" in err


@pytest.mark.slow
def test_each_mode_of_fio_has_a_throughput(answers):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    code, out, err = answers("fio-modes", "--runs", "26", "--json", "-q")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["cells"], answer["runs"], answer["failed"]) == (2 * 13, 26, 0)


def test_the_example_of_fio_runs(answers):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    code, out, err = answers("fio", "--runs", "27", "--json", "-q")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["cells"], answer["runs"], answer["failed"], answer["unit"]) == (27, 27, 0, "KiB/s")
    assert answer["best"]["mean"]["value"] > 0
    assert not [name for name in os.listdir() if name.startswith("vgo-sweep")], "its files are taken away"
