"""PBS and LSF: their commands are stood in for by scripts that start the job here, since apt has neither."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")

SUBMIT = """\
#!/bin/sh
[ $# -gt 0 ] && job=$1 || {{ job=$(mktemp {folder}/job.XXXXXX); cat > "$job"; }}
cp "$job" {folder}/asked
grep -q '{asked}' "$job" || {{ echo 'no such queue' >&2; exit 1; }}
setsid sh {folder}/asked > {folder}/log 2>&1 &
echo $! >> {folder}/began
echo "{said}"
"""
CANCEL = """\
#!/bin/sh
echo "$1" >> {folder}/ended
kill -- -"$1"
"""
SYSTEMS = {
    "pbs": ("qsub", "qdel", "#PBS -q debug", "$!.server"),
    "lsf": ("bsub", "bkill", "#BSUB -q debug", "Job <$!> is submitted to queue <debug>."),
}


@pytest.mark.cells(1)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.slow
def test_a_job_is_asked_for_used_and_ended_and_a_refusal_is_told(vgo, tmp_path: Path, system: str) -> None:
    submit, cancel, asked, said = SYSTEMS[system]
    for name, text in ((submit, SUBMIT), (cancel, CANCEL)):
        (tmp_path / name).write_text(text.format(folder=tmp_path, asked=asked, said=said))
        (tmp_path / name).chmod(0o755)
    on = "cluster: %s\nstart_s: 90\noptions: {queue: %s, memory: 300MiB, walltime: '00:10', log_directory: %s}\n"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (tmp_path / "refused.yaml").write_text(on % (system, "nowhere", tmp_path))
    refused = vgo("measure", "--on", "refused.yaml", "true", env=environment)
    assert refused.returncode == 1 and f"The {system} cluster cannot be started" in refused.stderr
    assert "Traceback" not in refused.stderr and not (tmp_path / "began").exists()
    (tmp_path / "on.yaml").write_text(on % (system, "debug", tmp_path))
    done = vgo("measure", "--on", "on.yaml", "--max-runs", "12", "--save", "runs.csv", "true", env=environment)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert {row["host"] for row in csv.DictReader(file)} == {os.uname().nodename}
    assert (tmp_path / "began").read_text() == (tmp_path / "ended").read_text(), "each job is ended by its own number"
    assert "--resources bench=1" in (tmp_path / "asked").read_text()
