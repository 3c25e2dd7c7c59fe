"""`vgo-agent machine` with real control groups and very short runs of the real stress-ng, or of a scripted one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.report.machine import profile_sentences
from vgo_agent.tools.mitigation.run_group import PREFIX, places

from ...conftest import COMMAND, Vgo, control_groups, groups_of_nobody
from ...tools.machine_profile.made import profile

FEW = ("--stressor", "cpu-int64", "--stressor", "cpu-gcd", "--stressor", "cpu-rand")
SHORT = ("--seconds", "0.1", "--repetitions", "2")
SPIN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 7"
STRESS_NG = f"""\
#!/bin/sh
trap '' ALRM
case "$*" in
  --version) echo "stress-ng, version 0.99"; exit ;;
  *which*) echo "must be one of: all int64 gcd rand"; exit ;;
  *int64*) ops=100000 ;;
  *) ops=200000 ;;
esac
cpu=1.0 group=$(grep -om1 '{PREFIX}[0-9-]*' /proc/self/cgroup)
stopped() {{ while read -r name value; do [ $name != nr_throttled ] || echo $value; done < PLACE/$group/cpu.stat; }}
if [ "$group" ]; then
  if [ -e PLACE/$group/cpu.max ]; then
    read -r quota period < PLACE/$group/cpu.max
  else
    read -r quota < PLACE/$group/cpu.cfs_quota_us
    read -r period < PLACE/$group/cpu.cfs_period_us
  fi
  ops=$((ops * quota / period + ops / 20)) cpu=0.5
  first=$(stopped)
  while [ "$(stopped)" -eq "$first" ]; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; done
fi
while [ "$1" != --yaml ]; do shift; done
echo "metrics: [{{bogo-ops: $ops, wall-clock-time: 1.0, user-time: $cpu, system-time: 0.0}}]" > "$2"
"""
"""Counts what its quota lets it and a twentieth more, however fast it runs, and ends when the quota has stopped it."""
stress_ng = pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not here")
groups = pytest.mark.skipif("cpu" not in places(), reason="no writable cpu control group here")


def held(group: Path) -> bool:
    try:
        return bool((group / "cgroup.procs").read_text())
    except OSError:  # it was removed just now
        return False


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(tmp_path / "journal"))
    before = groups_of_nobody(PREFIX)
    yield tmp_path / "journal"
    assert groups_of_nobody(PREFIX) == before


@pytest.fixture
def machine(vgo: Vgo) -> Vgo:
    """Run a command of this group."""
    return lambda *words, **more: vgo("machine", *map(str, words), **more)


def profiled(machine: Vgo, path: Path, *words: str | Path) -> dict[str, Any]:
    ended = machine("profile", *FEW, *SHORT, "--save", path, "--out", path.parent / "profiles", *words)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def restored(dead: int) -> bool:
    """Restore, and tell whether no group of `dead` is left; a command that started meanwhile may have been first."""
    subprocess.run([COMMAND, "restore"], check=True, capture_output=True, timeout=60)
    return not any(left.name.startswith(f"{PREFIX}{dead}-") for left in control_groups())


@stress_ng
def test_a_profile_holds_every_run_and_names_what_failed(machine: Vgo, tmp_path: Path) -> None:
    found = profiled(machine, tmp_path / "a.json", "--stressor", "cpu-nosuch", "--name", "here")
    assert (found["format"], found["version"]) == ("vgo-agent machine profile", 1)
    assert found["system"]["name"] == "here" and found["system"]["stress_ng"]
    runs = {name: [run for run in found["runs"] if run["stressor"] == name] for name in found["battery"]["stressors"]}
    assert set(runs) == {"cpu-int64", "cpu-gcd", "cpu-rand", "cpu-nosuch"}
    assert all(len(own) == 2 for own in runs.values())
    assert all(run["bogo_ops"] > 0 and not run["failed"] for run in runs["cpu-gcd"])
    assert all("cpu-method must be one of" in run["failed"] for run in runs["cpu-nosuch"])


@stress_ng
def test_a_profile_keeps_to_its_budget_and_goes_on(vgo: Vgo, machine: Vgo, tmp_path: Path) -> None:
    ended = machine("profile", *FEW, *SHORT, "--out", tmp_path, "--budget", "0.001")
    assert ended.returncode == 1 and "raise --budget" in ended.stderr
    (run,) = tmp_path.iterdir()
    assert "`vgo-agent resume` one that was cut off" in machine("compare", run, run).stderr
    request = json.loads((run / "experiment.json").read_text())
    elsewhere = {**request, "system": {**request["system"], "cpu": "another"}}
    (run / "experiment.json").write_text(json.dumps(elsewhere))
    assert "It was begun on " in vgo("resume", str(run)).stderr
    (run / "experiment.json").write_text(json.dumps(request))
    ended = vgo("resume", str(run), "--budget", "600", "--json")
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["profiles"]
    assert found["complete"] and found["runs"] == 6


def test_a_profile_without_its_last_runs_says_so() -> None:
    whole = profile({"cpu-a": [1.0, 2.0]}, failed={"cpu-b": "ended by signal 11"})
    part = whole.model_copy(update={"runs": whole.runs[:1]})
    assert profile_sentences(part)[0] == "a: rates of 1 of 2 stressors, from 1 runs of 1 s."
    assert profile_sentences(part)[2:] == ["The budget ended before the last run: `vgo-agent resume` makes the others."]
    assert profile_sentences(whole)[-1] == "No result: cpu-b (ended by signal 11)."


@groups
def test_a_quota_is_measured_found_again_and_used(
    machine: Vgo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "stress-ng"
    program.write_text(STRESS_NG.replace("PLACE", places()["cpu"].folder))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    median, cpus = halved(machine, tmp_path)
    assert median == pytest.approx(1 / 0.55)
    assert cpus == pytest.approx(0.5, rel=0.02)
    assert "<svg" in (tmp_path / "r.html").read_text()
    ended = machine("run", "--like", *tmp_path.glob("runs/*"), "--", "sh", "-c", SPIN)
    assert ended.returncode == 7
    assert f"a quota of {cpus:.3g} CPUs" in ended.stderr


def halved(machine: Vgo, folder: Path) -> tuple[float, float]:
    """Give how much faster this machine is than under half of a CPU, and the quota that calibration finds for that."""
    slow, full = folder / "slow.json", folder / "full.json"
    profiled(machine, slow, "--quota", "50%", "--beside", full, "--name", "slow")
    (kept,) = folder.glob("profiles/*")
    ended = machine("compare", kept, kept / "beside.json", "--json", "--save", folder / "r.html")
    assert ended.returncode == 0, ended.stderr
    (cpu,) = json.loads(ended.stdout)["groups"]
    words = ("--here", full, "--seconds", "0.15", "--sample", "3", "--json", "--out", folder / "runs")
    ended = machine("calibrate", "--base", kept, *words)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["calibration"]
    assert found["before"][1] == pytest.approx(cpu["median"]["value"])
    return float(cpu["median"]["value"]), found["quota"]["quota_us"] / found["quota"]["period_us"]


@groups
def test_the_proof_is_how_often_the_quota_stopped_it(machine: Vgo) -> None:
    ended = machine("run", "--quota", "5%", "--", "sh", "-c", SPIN)
    assert ended.returncode == 7
    assert int(ended.stderr.partition("stopped in ")[2].partition(" of")[0]) > 0


@groups
def test_the_terminal_and_the_exit_code_are_the_programs_own() -> None:
    words: list[str | Path] = [
        COMMAND,
        "machine",
        "run",
        "--quota",
        "0.5",
        "--",
        "sh",
        "-c",
        "cat; cat /proc/self/cgroup; kill -TERM $$",
    ]
    ended = subprocess.run(words, input="said\n", capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("said\n") and PREFIX in ended.stdout
    assert ended.returncode == 128 + signal.SIGTERM


@groups
def test_a_killed_run_leaves_nothing_after_restore(tmp_path: Path) -> None:
    with subprocess.Popen([COMMAND, "machine", "run", "--quota", "0.5", "--", "sleep", "60"]) as agent:
        deadline = time.monotonic() + 60
        while not any(own.name.startswith(f"{PREFIX}{agent.pid}-") for own in control_groups()):
            assert time.monotonic() < deadline and agent.poll() is None
            time.sleep(0.01)
        agent.send_signal(signal.SIGKILL)
    assert restored(agent.pid)


@stress_ng
@groups
@pytest.mark.slow
def test_a_killed_calibration_leaves_nothing_after_restore(machine: Vgo, tmp_path: Path) -> None:
    slow = tmp_path / "slow.json"
    profiled(machine, slow, "--quota", "50%", "--ahead")
    words: list[str | Path] = [
        COMMAND,
        "machine",
        "calibrate",
        "--base",
        slow,
        "--seconds",
        "2",
        "--ahead",
        "--quiet",
        "--out",
        tmp_path / "runs",
    ]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as agent:
        deadline = time.monotonic() + 60
        while not any(f"{PREFIX}{agent.pid}-" in own.name and held(own) for own in control_groups()):
            assert time.monotonic() < deadline and agent.poll() is None
            time.sleep(0.01)
        agent.send_signal(signal.SIGKILL)
    assert restored(agent.pid)
    assert not list(tmp_path.glob("runs/*/calibration.json"))


@stress_ng
@pytest.mark.slow
def test_the_same_file_twice_is_a_sentence(machine: Vgo, tmp_path: Path) -> None:
    profiled(machine, tmp_path / "a.json")
    shutil.copy(tmp_path / "a.json", tmp_path / "b.json")
    for other in ("a.json", "b.json"):
        ended = machine("compare", tmp_path / "a.json", tmp_path / other)
        assert ended.returncode == 1 and "the same profile" in ended.stderr


def test_without_stress_ng_its_package_is_named(machine: Vgo, tmp_path: Path) -> None:
    ended = machine("profile", "--out", tmp_path / "profiles", env={"PATH": str(tmp_path)})
    assert ended.returncode == 1 and "apt install stress-ng" in ended.stderr
    assert not (tmp_path / "profiles").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("profile", "--seconds", "0"), "no time for a stressor"),
        (("profile", "--repetitions", "0"), "measures nothing"),
        (("profile", "--quota", "much"), "no CPU quota"),
        (("profile", "--beside", "b.json"), "--beside counts only with --quota"),
        (("profile", "--quota", "50%", "--beside", "b.json", "--save", "b.json"), "is --save: name two files"),
        (("compare", "none.json", "none.json"), "Cannot read none.json"),
        (("compare", "none.json", "none.json", "--save", "r.pdf"), "no known ending"),
        (("calibrate", "--base", "none.json"), "Cannot read none.json"),
        (("run", "--like", "none.json", "--", "true"), "Cannot read none.json"),
        (("run", "--quota", "50%"), "No command was given"),
        (("run", "--quota", "50%", "--threads", "0", "--", "true"), "runs nothing"),
    ],
)
@pytest.mark.cells(3)
def test_bad_input_is_one_sentence(machine: Vgo, words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ended = machine(*words, cwd=tmp_path)
    assert ended.returncode == 1
    assert said in ended.stderr and "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("*.json"))
