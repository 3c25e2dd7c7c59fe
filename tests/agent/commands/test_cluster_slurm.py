"""One real diagnosis through Slurm: dask-jobqueue asks it for a node, and the runs are made there."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import slurm as batch

pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")


QUEUE = "cluster: slurm\nstart_s: 90\noptions: {queue: debug, memory: %s, walltime: '00:10:00', log_directory: %s}\n"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the commands of a Slurm of our own need."""
    if os.geteuid() != 0:
        pytest.skip("slurmd needs root")
    if lacking := batch.lacking():
        pytest.skip(f"{lacking} is not installed (apt-get install slurm-wlm munge)")
    with batch.slurm(tmp_path / "slurm") as made:
        yield made


@pytest.mark.slow
def test_a_diagnosis_runs_where_slurm_says_and_a_refused_job_is_told_at_once(environment, vgo, script, tmp_path):
    program = str(script("tiny.py", "import os, time\ntime.sleep(0.01 if os.getpid() % 3 else 0.03)\n"))
    (tmp_path / "too-much.yaml").write_text(QUEUE % ("500GiB", tmp_path))
    done = vgo("measure", "--on", "too-much.yaml", program, env=environment)
    assert done.returncode == 1
    assert "Memory specification can not be satisfied" in done.stderr and "Traceback" not in done.stderr
    (tmp_path / "on.yaml").write_text(QUEUE % ("300MiB", tmp_path))
    limits = ("--max-runs", "40", "--max-mitigations", "0")
    done = vgo("diagnose", "--on", "on.yaml", *limits, "--json", program, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"]["kind"] == "diagnosis" and found["verdict"]["remedy"]["kind"] != "confirmed"
    with (Path(found["run_dir"]) / "runs.csv").open(newline="") as file:
        assert {row["host"] for row in csv.DictReader(file)} == {os.uname().nodename}
