"""--launcher and --root: what is recorded, and what is refused before the first run."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from vgo_agent.layers.reading import trust

Vgo = Callable[..., subprocess.CompletedProcess[str]]
CPU = max(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--launcher", "nothing"], "There is no launcher nothing: name one of these: copies, docker, local, mpirun"),
        (["--launcher", "ssh"], "The launcher ssh needs host: --launcher ssh:host=HOST"),
        (["--launcher", "ssh:port=2"], "The launcher ssh needs host"),
        (["--launcher", "taskset:cpus=4095"], "started through the launcher taskset, exited with 1"),
        (["--root", "/nowhere"], "--root /nowhere has no folder proc"),
        (
            ["--root", "/usr", "--allow", "system"],
            "--root reads another root, but --allow system writes to this kernel",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(vgo: Vgo, options: list[str], words: str) -> None:
    done = vgo("diagnose", *options, "/bin/true")
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_only_the_other_side_has_is_not_looked_for_here(vgo: Vgo) -> None:
    done = vgo("diagnose", "--launcher", "ssh:host=127.0.0.1,port=1", "./only-there")
    assert done.returncode == 1
    assert "could not reach the host" in done.stderr or "ssh is not installed" in done.stderr


@pytest.mark.slow
def test_a_diagnosis_through_a_launcher_records_it_and_the_host(vgo: Vgo, script: Callable[[str, str], Path]) -> None:
    program = script("bench.py", "import os, time; time.sleep(0.001 + 0.005 * (os.getpid() % 2))")
    done = vgo(
        *("diagnose", "-q", "--launcher", f"taskset:cpus={CPU}", "--budget", "900", "--min-runs", "10"),
        *("--max-runs", "40", "--max-mitigations", "0", "--allow", "none", str(program)),
    )
    assert done.returncode == 0, done.stderr
    (folder,) = program.parent.glob("vgo-runs/*")
    with (folder / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["host"] for row in rows} == {os.uname().nodename}
    assert {row["last_cpu"] for row in rows if row["layers"]} == {f"{CPU}.0"}
    layers = json.loads((folder / "layers.json").read_text())
    assert layers[f"taskset:cpus={CPU}"]["parameters"] == {"cpus": str(CPU)}
    report = (folder / "report.md").read_text()
    assert f"Launcher: taskset:cpus={CPU}" in report
    assert f"Runs on: {os.uname().nodename}" in report
    page = (folder / "runs.md").read_text()
    assert "| `host` |" in page and "| `layers` |" in page
    assert vgo("verify", "--recompute", str(folder)).returncode == 0
    assert vgo("verify", str(folder)).returncode == 0


SLOW = """\
key: slow
kind: launcher
description: Takes its time.
run: sh -c 'sleep 0.03; exec "$$0" "$$@"' $CMD $ARGS
"""


def test_what_a_launcher_takes_itself_is_told_beside_the_cells_of_a_sweep(
    vgo: Vgo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    layer = tmp_path / "slow.yaml"
    layer.write_text(SLOW)
    trust([layer])
    limits = ("--min-runs", "5", "--max-runs", "5", "--budget", "900")
    done = vgo("sweep", "MODE=1,2", *limits, "--launcher", "./slow.yaml", "--", "/bin/true")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Of the runs of c000" in said and "the launcher slow itself takes" in said and "--metric" in said
    (folder,) = tmp_path.glob("vgo-runs/*")
    assert "timed on `true`" in (folder / "report.md").read_text()
    assert vgo("verify", "--recompute", str(folder)).returncode == 0
