"""Every command that runs a program is killed at a run that a seed draws, and goes on to the table of an unkilled one.

What the program prints depends on the rows kept so far and on what is in force, and on nothing else, so the two tables
are the same to the last digit. It kills the process group of the command itself, before it has printed anything: the
run that was cut off is in no table.
"""

from __future__ import annotations

import csv
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from vgo_agent.agent.run_folder import experiment_in
from vgo_agent.layers.reading import trust

from ..conftest import Vgo
from .asked_files import LAYER, adaptive, grid

PROGRAM = """\
#!/bin/sh
n=$(cat */*/partial/*.jsonl */*/log.jsonl 2>/dev/null | wc -l)
size=${1:-1}
if [ "$(cat vgo-runs/*/partial/*.jsonl vgo-runs/*/log.jsonl 2>/dev/null | wc -l)" -gt 0 ]; then
  read -r made < made; made=$((made + 1)); echo $made > made
  read -r last < last
  if [ $made -eq "$last" ]; then
    read -r stat < /proc/$PPID/stat
    set -- ${stat##*) }
    kill -9 -"$3"
    exit 1
  fi
fi
r=$(((n * n * 31 + n * 7919 + 17) % 101))
v=$r
case "$GLIBC_TUNABLES" in *=1) v=$((r * 4)) ;; *=2) v=$((r / 9)) ;; *=3) v=$((r * 3)) ;; *=4) v=$((r * 9 / 10)) ;; esac
case "$OMP_WAIT_POLICY" in [Aa]*) v=$((r / 6)) ;; [Pp]*) v=$((r * 5)) ;; esac
[ "$OMP_DISPLAY_ENV" ] && echo "  GOMP_SPINCOUNT = '$OMP_WAIT_POLICY'" >&2
echo "waits=$((n % 7))"
echo "value $((1000 + v * size))"
"""
JUDGED = ("--metric", "value ([0-9.]+)", "--unit", "ms", "--budget", "900", "--seed", "3")
SHORT = (*JUDGED, "--max-runs", "40")
PROFILED = ("--layer", "./said.yaml")
COMMANDS = {
    "measure": ("measure", *SHORT),
    "profile": ("measure", *JUDGED, *PROFILED, "--runs", "30"),
    "try": ("try", "glibc_tcache", "--param", "blocks=2", *SHORT, "--pairs", "30"),
    "try --after": ("try", "fix_the_work", "--after", "EARLIER", *SHORT),
    "tune": ("try", "glibc_tcache", "--search", "blocks=1..3", *SHORT),
    "diagnose": ("diagnose", *SHORT, *PROFILED, "--max-mitigations", "1"),
    "study": ("sweep", "openmp", *JUDGED, "--factors", "wait", "--rounds", "12"),
    "sweep, grid": ("sweep", "grid.yaml", "--seed", "3"),
    "sweep, adaptive": ("sweep", "adaptive.yaml", "--seed", "3"),
}
EARLIER = ("try", "glibc_tcache", "--param", "blocks=2", *SHORT, "--pairs", "10", "--out", "earlier")
"""Leaves the baseline that a command of these compares with."""
QUICK = ("measure", "sweep, grid")
SERVE = (
    ("resume", "RUN"),
    ("verify", "RUN"),
    ("verify", "--recompute", "RUN"),
    ("ask", "RUN", "what is the verdict?"),
    ("runs",),
    ("chat", "--plain", "RUN"),
)
"""Commands that end well on the folder of each."""
COLUMNS = ("call", "batch", "order", "condition", "pair", "round", "layers", "ok", "outcome")
"""Of the table, those that do not tell how long anything took."""


class Folder:
    """A folder in which one command runs; the run of the program that is the `last` one kills it, 0: none does."""

    def __init__(self, path: Path, last: int, vgo: Vgo) -> None:
        path.mkdir()
        self.path, self._vgo = path, vgo
        texts = {"program.sh": PROGRAM, "said.yaml": LAYER, "grid.yaml": grid(most=7)}
        texts["adaptive.yaml"] = adaptive(most=7, cells=6)
        for name, text in (texts | {"made": "0\n", "last": f"{last}\n"}).items():
            (path / name).write_text(text)
        (path / "program.sh").chmod(0o755)
        trust([path / "said.yaml"])

    def carry_out(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run one of the commands, and before it what it compares with."""
        words = COMMANDS[name] if name.startswith("sweep") else (*COMMANDS[name], "--", "./program.sh")
        if "EARLIER" not in words:
            return self.run(*words)
        made = self.run(*EARLIER, "--", "./program.sh")
        assert made.returncode == 0, made.stderr
        (earlier,) = self.path.glob("earlier/*")
        return self.run(*(word.replace("EARLIER", str(earlier)) for word in words))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a session of its own, so that the program kills nothing else."""
        return self._vgo(*words, cwd=str(self.path), start_new_session=True)

    @property
    def made(self) -> int:
        """Runs of the program that could have been the last one."""
        return int((self.path / "made").read_text())

    @property
    def kept(self) -> Path:
        """The run folder."""
        (folder,) = self.path.glob("vgo-runs/*")
        return folder

    @property
    def table(self) -> list[dict[str, str]]:
        """The run table, less what tells how long anything took."""
        with (self.kept / "runs.csv").open(newline="") as file:
            return [{name: row[name] for name in COLUMNS if name in row} for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=() if name in QUICK and seed == 1 else pytest.mark.slow)
        for name in COMMANDS
        for seed in (1, 2, 3)
    ],
)
def test_a_command_killed_at_any_run_goes_on_to_the_same_table(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vgo: Vgo
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    whole = Folder(tmp_path / "whole", 0, vgo)
    ended = whole.carry_out(name)
    assert ended.returncode == 0, ended.stderr
    last = random.Random(f"{name}:{seed}").randint(1, whole.made)
    killed = Folder(tmp_path / "killed", last, vgo)
    assert killed.carry_out(name).returncode == -signal.SIGKILL
    run, said = str(killed.kept.relative_to(killed.path)), dict[str, str]()
    for command in SERVE:
        served = killed.run(*(word.replace("RUN", run) for word in command))
        assert served.returncode == 0, (last, command, served.stderr, served.stdout)
        said[command[0]] = " ".join(served.stdout.split())
    if experiment_in(killed.kept):
        assert said["ask"][:50] in said["chat"], "what is asked, and what is opened, has one answer"
    assert len(whole.table) > 1
    assert killed.table == whole.table, last


GROWING = {"transcript.jsonl": 1, "timing.jsonl": 1, "child.pid": 1, "partial/*.jsonl": 4, "log.jsonl": 4}
"""Files that a run appends to, and of how many lines the disk may lack the end; the others are renamed when whole."""


def lose_power(folder: Path, zeros: bool) -> None:
    """Take half of what may not have been on the disk, or leave zeros in its place, as a file system does."""
    for pattern, lines in GROWING.items():
        for path in folder.glob(pattern):
            content = path.read_bytes()
            lost = (len(b"".join(content.splitlines(keepends=True)[-lines:])) + 1) // 2
            path.write_bytes(content[: len(content) - lost] + b"\0" * lost * zeros)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS]
)
def test_what_a_loss_of_power_tears_is_made_again_and_the_table_is_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vgo: Vgo
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    whole = Folder(tmp_path / "whole", 0, vgo)
    assert whole.carry_out(name).returncode == 0
    killed = Folder(tmp_path / "killed", whole.made // 2, vgo)
    assert killed.carry_out(name).returncode == -signal.SIGKILL
    run, backup = killed.kept, tmp_path / "backup"
    shutil.copytree(run, backup)
    for zeros in (False, True):
        shutil.rmtree(run)
        shutil.copytree(backup, run)
        lose_power(run, zeros)
        for command in ("resume", "verify"):
            served = killed.run(command, str(run.relative_to(killed.path)))
            assert served.returncode == 0, (zeros, command, served.stderr, served.stdout)
        assert killed.table == whole.table
