"""Killed and resumed: nothing finished is lost or repeated, and nothing stays changed."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vgo_agent.agent.record import bodies
from vgo_agent.agent.transcript import ToolEnd, ToolStart, Transcript, read

COMMAND = Path(sys.executable).with_name("vgo-agent")
PROGRAM = """
import os, time
block = b"x" * ((32 << 20) if os.urandom(1)[0] < 90 else (1 << 20))
time.sleep(0.002)
"""
OPTIONS = ("--max-runs", "40", "--budget", "300", "--max-mitigations", "2", "--quiet")


def begin(folder: Path, *more: str) -> subprocess.Popen[str]:
    program = folder / "program.py"
    program.write_text(f"#!{sys.executable} -IS{PROGRAM}")
    program.chmod(0o755)
    return subprocess.Popen(
        [COMMAND, "diagnose", *OPTIONS, *more, str(program)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def run_folder(folder: Path) -> Path:
    """Wait until the diagnosis has a folder."""
    for _ in range(6000):
        found = [path for path in folder.glob("vgo-runs/*") if (path / "request.json").exists()]
        if found:
            return found[0]
        time.sleep(0.01)
    raise AssertionError("no run folder appeared")


def wait_for_events(run: Path, count: int) -> None:
    """Wait until so many events are on disk; by progress, not by time, since machines differ in speed."""
    path = run / "transcript.jsonl"
    for _ in range(12000):
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{count} events did not appear")


@pytest.mark.parametrize("events", [9, *(pytest.param(events, marks=pytest.mark.slow) for events in (0, 3, 15))])
def test_a_killed_diagnosis_goes_on_to_its_end(tmp_path, vgo, events):
    process = begin(tmp_path)
    run = run_folder(tmp_path)
    wait_for_events(run, events) if events else None
    time.sleep(random.Random(events).uniform(0, 0.3))
    process.kill()
    process.communicate()
    before = Transcript.open(run / "transcript.jsonl").events if (run / "transcript.jsonl").exists() else []
    finished_before = [event.body for event in before]
    done = vgo("resume", str(run), "--json")
    assert done.returncode == 0, done.stderr
    after = read(run / "transcript.jsonl")
    assert [event.body for event in after][: len(before)] == finished_before
    starts = [start.call_id for start in bodies(after, ToolStart)]
    assert len(starts) == len(set(starts)) == len(bodies(after, ToolEnd))
    for command in (("verify",), ("verify", "--recompute")):
        checked = vgo(*command, str(run))
        assert checked.returncode == 0, checked.stderr + checked.stdout


@pytest.mark.slow
def test_rows_measured_before_a_kill_are_kept(tmp_path, vgo):
    process = begin(tmp_path)
    run = run_folder(tmp_path)
    partial = run / "partial" / "c001.jsonl"
    while not partial.exists() or partial.read_bytes().count(b"\n") < 5:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    kept = [json.loads(line)["wall_s"] for line in partial.read_bytes().rpartition(b"\n")[0].splitlines()]
    assert vgo("resume", str(run)).returncode == 0
    with (run / "runs.csv").open() as file:
        header, *rows = [line.split(",") for line in file.read().splitlines()]
    place = header.index("wall_s")
    assert [float(row[place]) for row in rows[: len(kept)]] == kept


@pytest.mark.slow
def test_a_profile_that_was_killed_goes_on_with_the_layers_that_it_began_with(tmp_path, vgo):
    process = begin(tmp_path, "--layer", "process", "--layer", "program")
    run = run_folder(tmp_path)
    partial = run / "partial" / "c002.jsonl"
    while not partial.exists() or partial.read_bytes().count(b"\n") < 15:
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert json.loads((run / "partial" / "c002.choice.json").read_text())["layers"] == ["process", "program"]
    kept = [json.loads(line)["layers"] for line in partial.read_bytes().rpartition(b"\n")[0].splitlines()]
    assert vgo("resume", str(run)).returncode == 0
    profiles = [end for end in bodies(read(run / "transcript.jsonl"), ToolEnd) if end.call_id == "c002"]
    assert profiles[0].result is not None and profiles[0].result["layers"] == ["process", "program"]
    with (run / "runs.csv").open(newline="") as file:
        after = [row["layers"] for row in csv.DictReader(file) if row["call"] == "c002"]
    assert after[: len(kept)] == kept and set(after) == {"", "process+program"}
    assert vgo("verify", str(run)).returncode == vgo("verify", "--recompute", str(run)).returncode == 0


def readable(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_two_agents_on_one_folder_are_one_too_many(tmp_path, vgo):
    process = begin(tmp_path)
    run = run_folder(tmp_path)
    done = vgo("resume", str(run))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert done.returncode == 1
    assert "in use by another" in done.stderr


@pytest.mark.slow
def test_the_run_that_a_killed_diagnosis_and_its_watchdog_left_going_is_ended_by_the_resume(tmp_path, vgo):
    program = tmp_path / "longrun.sh"
    program.write_text("#!/bin/sh\nexec sleep 3.7701\n")
    program.chmod(0o755)
    line = [str(COMMAND), "diagnose", "--max-runs", "2", "--quiet", str(program)]
    process = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    run = run_folder(tmp_path)
    wait_for_events(run, 3)
    while not (run / "child.pid").read_text().strip():
        time.sleep(0.01)
    (watchdog,) = [
        pid
        for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if b"mitigation.guard" in readable(Path(f"/proc/{pid}/cmdline"))
    ]
    os.kill(int(watchdog), signal.SIGKILL)
    process.kill()
    process.wait()
    orphan = int((run / "child.pid").read_text())
    assert Path(f"/proc/{orphan}").exists()
    vgo("resume", str(run))
    assert b"sleep" not in readable(Path(f"/proc/{orphan}/cmdline"))
