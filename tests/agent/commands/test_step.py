"""measure and profile through the front door: what they tell, what they keep, what Ctrl-C leaves."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from vgo_agent.agent.report.factors import missing_cells

COMMAND = Path(sys.executable).with_name("vgo-agent")
NUMBER = """
import os, random
with open(__file__ + ".runs", "a") as runs:
    random.seed(runs.tell())
    runs.write(".")
extra = float(os.environ.get("EXTRA", "0"))
slow = random.random() < 0.4
print("time", 10 + 2 * slow + random.gauss(0, 0.05) + extra)
print("calls", 40 + random.randrange(9) if slow else 5 + random.randrange(9))
"""
"""What it prints does not depend on how fast the machine is; a wrapper that sets EXTRA makes it slow."""
LAYER = """\
key: {key}
description: Counts calls.
run: env {variable}={extra} $CMD $ARGS
{heavy}
columns:
  - {{name: {key}.calls, unit: count, description: Calls., innate: true, extract: {{regex: "calls ([0-9]+)"}}}}
"""
METRIC = ("--metric", "time ([0-9.]+)", "--unit", "ms")


@pytest.fixture
def program(script):
    return str(script("number.py", NUMBER))


@pytest.fixture
def layer(tmp_path, vgo, monkeypatch):
    """Write and trust a layer that wraps the program."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def write(key: str, extra: float, heavy: bool = True) -> str:
        path = tmp_path / f"{key}.yaml"
        path.write_text(
            LAYER.format(
                key=key, extra=extra, variable="EXTRA" if extra else "NOTHING", heavy="heavy: true" if heavy else ""
            )
        )
        trusted = vgo("layers", "--trust", str(path))
        assert trusted.returncode == 0, trusted.stderr
        return f"./{key}.yaml"

    return write


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_measure_tells_the_distribution_and_what_stopped_it(vgo, program):
    done = vgo("measure", "--stop", "count", "--stop-at", "40", *METRIC, program)
    assert done.returncode == 0, done.stderr
    assert "40 runs count; stopped by fixed count" in " ".join(done.stdout.split())
    for name in ("mean", "median", "SD", "CV", "p95", "p99", "range"):
        assert f"\n  {name} " in done.stdout
    assert "(95 %:" in done.stdout and "There are 2 modes" in done.stdout
    assert "▁" in done.stdout or "█" in done.stdout


def test_measure_prints_every_run_as_json(vgo, program):
    done = vgo("measure", "--max-runs", "30", "--json", *METRIC, program)
    answer = json.loads(done.stdout)
    assert answer["runs"] == len(answer["rows"]) == 30
    assert answer["outcome"].keys() >= {"n", "median", "sd", "p99"}
    assert answer["machine"]["kernel"] and answer["unit"] == "ms" and answer["interrupted"] is False


@pytest.mark.parametrize(
    "name", [pytest.param("t.csv", marks=pytest.mark.slow), pytest.param("t.parquet", marks=pytest.mark.slow), "folder"]
)
def test_what_profile_saves_is_analysed(vgo, program, layer, tmp_path, name):
    spec = layer("tally", 0.0, heavy=False)
    done = vgo("measure", "--layer", spec, "--runs", "60", "--save", name, *METRIC, program)
    assert done.returncode == 0, done.stderr
    assert f"Next: vgo-agent analyze {name}" in done.stdout
    analysed = vgo("analyze", name, "--json")
    assert analysed.returncode == 0, analysed.stderr
    found = json.loads(analysed.stdout)
    assert found["verdict"] == "cause explained" and found["factors"][0]["name"] == "tally.calls"
    # The draws are the program's own: three series in a hundred begin as if they warmed up.
    assert found["unit"] == "ms" and found["runs"] + found["shape"]["warm_up"] == 60
    page = (tmp_path / name / "runs.md") if name == "folder" else (tmp_path / "t.md")
    assert "| `tally.calls` | count | factor | tally | Calls. |" in page.read_text()


def test_what_measure_saves_has_every_run_and_is_compared(vgo, program, tmp_path):
    for name in ("a.csv", "b.csv"):
        done = vgo("measure", "--stop", "count", "--stop-at", "30", "--save", name, *METRIC, program)
        assert done.returncode == 0, done.stderr
    assert len(rows_of(tmp_path / "a.csv")) == 30
    compared = vgo("compare", "a.csv", "b.csv", "--json")
    assert compared.returncode in (0, 1), compared.stderr
    assert "Traceback" not in compared.stderr


def test_profile_rotates_heavy_layers_and_says_what_each_costs(vgo, program, layer, tmp_path):
    specs = [layer("near", 0.1), layer("far", 50.0), layer("light", 0.0, heavy=False)]
    flags = [word for spec in specs for word in ("--layer", spec)]
    done = vgo("measure", *flags, "--runs", "30", "--save", "folder", "--json", *METRIC, program)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    judged = {tuple(one["layers"]): one for one in answer["distortions"]}
    assert set(judged) == {(specs[2],), (specs[0], specs[2]), (specs[1], specs[2])}
    assert "more than slow and fast runs differ" in judged[specs[1], specs[2]]["set_aside"]
    assert judged[specs[1], specs[2]]["mean"]["low"] > 3
    assert judged[specs[0], specs[2]]["set_aside"] == judged[(specs[2],)]["set_aside"] == ""
    assert f"absent on this machine. {specs[1]} set aside: it shifts" in answer["summary"]
    rows = rows_of(tmp_path / "folder" / "runs.csv")
    on = [row["layers"] for row in rows]
    assert {name: on.count(name) for name in set(on)} == {"": 30, "light": 30, "near+light": 30, "far+light": 30}
    assert all((row["near.calls"] != "") == ("near" in row["layers"]) for row in rows)
    assert on != sorted(on)


@pytest.mark.slow
def test_a_wrapper_that_sleeps_is_found_by_wall_time(vgo, tmp_path, script, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    quick = str(script("quick.py", "import random\nprint('n', random.randrange(9))"))
    body = LAYER.format(key="sleepy", extra=1, variable="EXTRA", heavy="").replace(
        "env EXTRA=1", "sh -c 'sleep 0.5; exec \"$@\"' sh"
    )
    (tmp_path / "sleepy.yaml").write_text(body.replace("calls ([", "n (["))
    assert vgo("layers", "--trust", "sleepy.yaml").returncode == 0
    done = vgo("measure", "--layer", "./sleepy.yaml", "--runs", "20", quick)
    assert done.returncode == 0, done.stderr
    assert "set aside: it shifts the mean by +" in done.stdout


def test_at_a_terminal_the_step_and_its_folder_are_drawn_while_it_runs(program, tmp_path):
    outer, inner = pty.openpty()
    words = [COMMAND, "measure", "--max-runs", "30", *METRIC, program]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=inner) as measuring:
        os.close(inner)
        seen = b""
        with suppress(OSError):  # the terminal is gone with the last who had it open
            while part := os.read(outer, 4096):
                seen += part
        assert measuring.wait(60) == 0
    os.close(outer)
    assert b": kept in vgo-runs/" in seen and b"measure: run until it is enough" in seen


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        pytest.param("measure", ("--stop", "count", "--stop-at", "5000", "--max-runs", "9999"), marks=pytest.mark.slow),
        ("profile", ("--layer", "process")),
    ],
)
def test_ctrl_c_keeps_the_runs_so_far(tool, words, program, tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text(f"#!{sys.executable} -IS\nimport time, random; time.sleep(0.02); print('time', random.random())")
    slow.chmod(0o755)
    process = subprocess.Popen(
        [COMMAND, "measure", *words, "--save", "t.csv", "--json", *METRIC, str(slow)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")},
    )
    assert process.stderr is not None
    while f"{tool}:" not in (line := process.stderr.readline()):
        assert line, "it ended too early"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    answer = json.loads(output)  # one object
    (run,) = tmp_path.glob("vgo-runs/*")
    assert error.endswith(f"vgo-agent: stopped by Ctrl-C; go on with: vgo-agent resume {run.relative_to(tmp_path)}\n")
    assert answer["interrupted"] is True
    assert 0 < len(answer["rows"]) < 5000
    assert len(rows_of(tmp_path / "t.csv")) == len(answer["rows"])


@pytest.mark.parametrize(
    "words", [("--layer", "process", "--layer", "program"), pytest.param(("--layer", "all"), marks=pytest.mark.slow)]
)
def test_ctrl_c_keeps_the_runs_when_they_have_shown_that_a_layer_is_empty(words, tmp_path):
    silent = tmp_path / "silent.sh"
    silent.write_text("#!/bin/sh\necho . >> ran\n")
    silent.chmod(0o755)
    with subprocess.Popen(
        [COMMAND, "measure", *words, "--save", "t.csv", "--json", str(silent)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")},
    ) as process:
        while process.poll() is None and len(lines_of(tmp_path / "ran")) < 25:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    answer = json.loads(output)
    assert answer["interrupted"] is True and answer["runs"] > 0 and "program" in answer["layers"]
    on = [row["layers"] for row in rows_of(tmp_path / "t.csv")]
    assert len(on) == len(answer["rows"]) >= 20
    assert sum(one["runs"] for one in answer["distortions"]) == sum(name != "" for name in on)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("measure", "--save", "t.xlsx", "true"), "name it *.csv or *.parquet"),
        (("measure", "--save", "no/where.csv", "true"), "make it first"),
        (("measure", "--layer", "process", "--runs", "1", "true"), "--runs 1"),
        (("measure", "--layer", "nothing_such", "true"), "nothing_such"),
        (("measure", "--layer", "process", "--layer", "process", "true"), "named twice"),
        (("measure", "--layer", "./one.yaml", "--layer", "./two.yaml", "true"), "both give the column again.x"),
        (("measure", "--layer", "./gone.yaml", "true"), "can show nothing here"),
        (("measure", "false"), "exited with 1"),
        (("measure", "--layer", "process", "no-such-program-at-all"), "no-such-program-at-all"),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(vgo, tmp_path, words, said):
    column = '  - {name: again.x, unit: count, description: Again., extract: {regex: "x"}}'
    for key in ("one", "two"):
        (tmp_path / f"{key}.yaml").write_text(f"key: {key}\ndescription: Twice.\ncolumns:\n{column}\n")
    (tmp_path / "gone.yaml").write_text(
        "key: gone\ndescription: Not here.\nneeds: [no-such-tool]\ncure: install no-such-tool\ncolumns:\n"
        '  - {name: gone.x, unit: count, description: X., extract: {regex: "x"}}\n'
    )
    done = vgo(*words)
    assert done.returncode == 1, done.stdout
    assert said in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("vgo-agent: ")]) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name", [pytest.param("t.csv", marks=pytest.mark.slow), "t.parquet", pytest.param("folder", marks=pytest.mark.slow)]
)
def test_a_step_saved_twice_keeps_the_second_and_import_never_writes_over_what_it_reads(vgo, program, tmp_path, name):
    for runs in ("30", "35"):
        done = vgo("measure", "--stop", "count", "--stop-at", runs, "--save", name, *METRIC, program)
        assert done.returncode == 0, done.stderr
    assert json.loads(vgo("analyze", "--read-only", name, "--json").stdout)["rows"] == 35
    refused = vgo("analyze", "--read-only", name, "--save", name)
    assert refused.returncode == 1 and "never written over" in refused.stderr


def test_what_an_earlier_save_did_not_write_is_refused_before_the_first_run(vgo, script, tmp_path):
    program = str(script("ran.py", "open('ran', 'a').write('.')"))
    (tmp_path / "mine.csv").write_text("time,host\n1,a\n")
    (tmp_path / "README.md").write_text("# About\n")
    (tmp_path / "broken.parquet").write_text("no table")
    (tmp_path / "file").write_text("no folder")
    diagnosis = tmp_path / "diagnosis"
    diagnosis.mkdir()
    (diagnosis / "transcript.jsonl").write_text("{}\n")
    (diagnosis / "runs.csv").write_text("call,tool,batch,order,condition,pair,ok,exit_code,survivors,outcome,wall_s\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("mine.csv", "README.csv", "broken.parquet", "file", "diagnosis", "diagnosis/runs.csv"):
        done = vgo("measure", "--max-runs", "10", "--save", name, program)
        assert done.returncode == 1 and done.stderr.startswith(f"vgo-agent: --save {name} "), done.stderr
        assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (tmp_path / "empty.csv").touch()
    done = vgo("measure", "--max-runs", "10", "--save", "empty.csv", program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", ["t.csv", pytest.param("t.parquet", marks=pytest.mark.slow), pytest.param("folder", marks=pytest.mark.slow)]
)
def test_failed_runs_are_saved_and_an_analysis_leaves_them_out_and_says_so(vgo, script, layer, name):
    count = "open('ran', 'a').write('.')\nn = len(open('ran').read())\n"
    body = f"{NUMBER}\nimport sys\n{count}sys.exit(3 if n % 5 == 0 else 0)\n"
    spec = layer("tally", 0.0, heavy=False)
    words = ("--layer", spec, "--runs", "40", "--save", name, "--json")
    done = vgo("measure", *words, *METRIC, str(script("flaky.py", body)))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    failed = sum(row["ok"] == 0 for row in rows)
    assert failed >= 10
    read = json.loads(vgo("analyze", "--read-only", name, "--json").stdout)
    assert read["rows"] == len(rows) - failed
    said = f"{failed} runs failed and do not count: left out."
    assert said in read["notes"]
    analysed = vgo("analyze", name)
    assert analysed.returncode in (0, 1) and said in " ".join(analysed.stdout.split()), analysed.stdout
    if name == "t.csv":
        saved = rows_of(script("x", "").parent / name)
        assert [(row["ok"], row["exit_code"]) for row in saved if row["ok"] != "1"] == [("0", "3")] * failed


def test_cells_that_some_runs_lack_are_told():
    rows = [{"ok": 1, "layers": "a", "outcome": 1.0, "x": 1.0, "y": None if run < 3 else 2.0} for run in range(10)]
    assert list(missing_cells(rows)) == ["Missing in 3 of 10 runs: y."]
    assert list(missing_cells([{**row, "ok": 0} for row in rows])) == []
