"""--accept names mitigations that exist, in every command that has it, and can be given to a run that goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vgo_agent.agent.cli import main

COMMAND = Path(sys.executable).with_name("vgo-agent")


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", "--", "true"),
        ("try", "pin_to_cpu", "--", "true"),
        ("try", "omp_threads", "--search", "threads", "--", "true"),
        ("chat", "--plain", "true"),
        ("demo",),
        ("resume", "nowhere"),
    ],
    ids=lambda words: words[0],
)
def test_an_unknown_name_is_refused_with_the_nearest(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    place = 1 + (words[0] == "try")
    code = main([*words[:place], "--accept", "tmpfs_directry", *words[place:]])
    said = capsys.readouterr().err
    assert code == 1 and "There is no mitigation 'tmpfs_directry'; did you mean tmpfs_directory" in said, said
    assert not list(tmp_path.glob("vgo-runs/*"))


@pytest.mark.slow
def test_a_run_that_goes_on_takes_what_is_accepted_from_then(vgo, script, tmp_path):
    program = script("slow.py", "import random, time\nprint('time', 10 + random.random())\ntime.sleep(0.02)\n")
    options = ("--metric", "time ([0-9.]+)", "--unit", "ms", "--max-runs", "40", "--allow", "none", "--budget", "90")
    begun = subprocess.Popen([COMMAND, "diagnose", *options, str(program)], cwd=tmp_path, stderr=subprocess.PIPE)
    while not list(tmp_path.glob("vgo-runs/*/transcript.jsonl")):
        assert begun.poll() is None
        time.sleep(0.05)
    begun.send_signal(signal.SIGINT)
    assert begun.wait(30) == 130
    (run,) = tmp_path.glob("vgo-runs/*")
    done = vgo("resume", str(run), "--accept", "tmpfs-directory", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (run / "transcript.jsonl").read_text().splitlines()]
    changed = [one["body"]["limits"]["accept"] for one in events if one["body"]["kind"] == "limits_changed"]
    begun_with = [one["body"]["limits"].get("accept") for one in events if one["body"]["kind"] == "run_start"]
    assert ["tmpfs_directory"] in (changed[-1:] or begun_with)
    assert vgo("verify", "--recompute", str(run)).returncode == 0
