"""What runs stressors is killed at a run that a seed draws, and goes on to the table and answer of an unkilled one.

What the scripted stress-ng counts depends on the rows kept so far and on whether it is in a control group of ours, so
that both are the same to the last digit; it spins for a moment, so that the quota stops it.
"""

from __future__ import annotations

import json
import os
import random
import signal
from itertools import product
from pathlib import Path

import pytest

from vgo_agent.tools.machine_profile.form import Calibration, Profile, read
from vgo_agent.tools.mitigation.run_group import PREFIX, places

from ..conftest import Vgo
from .test_resumed_commands import SERVE, Folder

STRESS_NG = f"""\
#!/bin/sh
trap '' ALRM
case "$*" in
  --version) echo "stress-ng, version 0.99"; exit ;;
  *which*) echo "must be one of: all int64 gcd rand"; exit ;;
esac
cd "${{0%/*}}"
n=$(cat vgo-runs/*/partial/*.jsonl 2>/dev/null | wc -l)
if [ "$n" -gt 0 ]; then
  read -r made < made; made=$((made + 1)); echo $made > made
  read -r last < last
  if [ $made -eq "$last" ]; then
    read -r stat < /proc/$PPID/stat
    set -- ${{stat##*) }}
    kill -9 -"$3"
    exit 1
  fi
fi
i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done
ops=$((1000 + (n * n * 31 + n * 7919 + 17) % 101)) cpu=1.0
if grep -q {PREFIX} /proc/self/cgroup; then ops=$((ops / 5)) cpu=0.2; fi
while [ "$1" != --yaml ]; do shift; done
echo "metrics: [{{bogo-ops: $ops, wall-clock-time: 1.0, user-time: $cpu, system-time: 0.0}}]" > "$2"
"""
PROFILE = ("machine", "profile", "--seconds", "0.1", "--group", "cpu", "-q")
CALIBRATE = ("machine", "calibrate", "--base", "base.json", "--here", "here.json", "--seconds", "0.1", "--seed", "3")
COMMANDS = {
    "calibrate": (*CALIBRATE, "--steps", "3"),
    "profile": (*PROFILE, "--repetitions", "3", "--quota", "20%", "--beside", "full.json", "--save", "slow.json"),
}


def prepared(path: Path, last: int, vgo: Vgo, monkeypatch: pytest.MonkeyPatch) -> Folder:
    folder = Folder(path, last, vgo)
    (path / "stress-ng").write_text(STRESS_NG)
    (path / "stress-ng").chmod(0o755)
    monkeypatch.setenv("PATH", str(path), prepend=os.pathsep)
    for words in (("--quota", "20%", "--save", "base.json", "--name", "base"), ("--save", "here.json")):
        ended = folder.run(*PROFILE, "--repetitions", "1", "--out", "profiles", *words)
        assert ended.returncode == 0, ended.stderr
    return folder


def answer(folder: Folder) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder.kept / "answer.json").read_text())
    return {name: value for name, value in found.items() if name != "folder"}


@pytest.mark.skipif("cpu" not in places(), reason="no writable cpu control group here")
@pytest.mark.slow  # test_resumed_commands.py has one of each kind in the check
@pytest.mark.parametrize(("name", "seed"), product(COMMANDS, (1, 2, 3)))
def test_what_is_killed_at_any_run_goes_on_to_the_same_answer(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vgo: Vgo
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(tmp_path / "journal"))
    whole = prepared(tmp_path / "whole", 0, vgo, monkeypatch)
    ended = whole.run(*COMMANDS[name])
    assert ended.returncode == 0, ended.stderr
    last = random.Random(f"{name}:{seed}").randint(1, whole.made)
    killed = prepared(tmp_path / "killed", last, vgo, monkeypatch)
    assert killed.run(*COMMANDS[name]).returncode == -signal.SIGKILL
    run = str(killed.kept.relative_to(killed.path))
    for command in SERVE:
        served = killed.run(*(word.replace("RUN", run) for word in command))
        assert served.returncode == 0, (last, command, served.stderr, served.stdout)
    assert killed.table == whole.table, last
    assert answer(killed) == answer(whole)
    if name == "calibrate":
        assert 0.15 < read(killed.kept, Calibration).low < 0.25
        return
    slow, full = (read(killed.kept / file, Profile) for file in ("", "beside.json"))
    assert slow.complete and full.complete
    for one, file in ((slow, "slow.json"), (full, "full.json")):
        assert one.rates("cpu") == read(whole.path / file, Profile).rates("cpu")


@pytest.mark.skipif("cpu" not in places(), reason="no writable cpu control group here")
def test_a_calibration_keeps_to_its_budget_and_goes_on_with_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vgo: Vgo
) -> None:
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(tmp_path / "journal"))
    folder = prepared(tmp_path / "one", 0, vgo, monkeypatch)
    ended = folder.run(*CALIBRATE, "--budget", "0.001")
    assert ended.returncode == 1 and "raise --budget" in ended.stderr
    served = folder.run("resume", str(folder.kept), "--budget", "600")
    assert served.returncode == 0, served.stderr
    assert folder.run("verify", str(folder.kept), "--recompute").returncode == 0
