"""`vgo-agent analyze --by rank`: on tables, and on a real Open MPI program of which one rank is late now and then."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import vgo_agent.evals
from vgo_agent.agent.cli import main
from vgo_agent.knowledge.loader import load
from vgo_agent.layers.launcher import open_launcher
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.execution.way import Through, Ways
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

Vgo = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = Path(vgo_agent.evals.__path__[0]) / "workloads" / "mpi" / "straggler.c"
TWO_CPUS = len(os.sched_getaffinity(0)) > 1


def table(path: Path, ranks: int = 3, runs: int = 40, late: int = 1) -> str:
    """Rank `late` is late in a third of the runs; every rank has a CPU and a host, which it keeps."""
    random = np.random.default_rng(1)
    own = 0.1 + random.normal(0, 0.002, (runs, ranks))
    own[random.random(runs) < 0.33, late] += 0.05
    wall = own.max(axis=1)
    columns: dict[str, object] = {"time_s": wall + 0.2}
    for rank in range(ranks):
        columns[f"mpi.{rank}.own_s"] = own[:, rank]
        columns[f"mpi.{rank}.time_s"] = wall - own[:, rank]
        columns[f"mpi.{rank}.host"] = [f"n{rank % 2}"] * runs
        columns[f"mpi.{rank}.cpus"] = [str(rank)] * runs
    pl.DataFrame(columns).write_csv(path)
    return str(path)


def test_the_late_rank_is_named_and_the_rows_of_all_ranks_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, ranks = table(tmp_path / "runs.csv"), tmp_path / "out" / "ranks.csv"
    assert main(["analyze", "--by", "rank", runs, "--outcome", "time_s", "--save", str(ranks), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["rank"], found["runs"]) == ("one rank", 1, 40)
    assert found["ranks"][1]["host"] == "n1"
    with ranks.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120
    assert {(row["rank"], row["host"], row["cpus"]) for row in rows} == {
        ("0", "n0", "0"),
        ("1", "n1", "1"),
        ("2", "n0", "2"),
    }
    assert all(float(row["total_s"]) == pytest.approx(float(row["own_s"]) + float(row["waiting_s"])) for row in rows)


def test_the_rows_of_ranks_are_a_table_with_rank_and_host_as_factors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, ranks = table(tmp_path / "runs.csv"), tmp_path / "ranks.parquet"
    assert main(["analyze", "--by", "rank", runs, "--outcome", "time_s", "--save", str(ranks)]) == 0
    told = capsys.readouterr().out
    assert "ONE RANK" in told and "cannot be told" in told
    words = ["--outcome", "own_s", "--exclude", "run,waiting_s,waiting_share,total_s", "--settings", "rank,host"]
    assert main(["analyze", str(ranks), *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "cause explained"
    assert found["factors"][0]["column"] in ("rank", "host=n1", "host=n0")


def test_a_host_whose_ranks_are_late_together_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(2)
    own = 0.1 + random.normal(0, 0.002, (40, 4))
    own[random.random(40) < 0.33, 2:] += 0.05
    columns: dict[str, object] = {"time_s": own.max(axis=1)}
    for rank in range(4):
        columns |= {f"mpi.{rank}.own_s": own[:, rank], f"mpi.{rank}.time_s": own.max(axis=1) - own[:, rank]}
        columns[f"mpi.{rank}.host"] = ["near", "near", "far", "far"][rank : rank + 1] * 40
    pl.DataFrame(columns).write_csv(tmp_path / "runs.csv")
    assert main(["analyze", "--by", "rank", str(tmp_path / "runs.csv"), "--outcome", "time_s"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("ONE HOST\nSlow runs are slow because of far: its ranks are late together.")
    assert "far has 2 of 4 ranks" in told


def test_what_the_user_says_of_the_direction_goes_before_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, mapping = table(tmp_path / "runs.csv"), tmp_path / "up.yaml"
    mapping.write_text("columns: [{name: time_s, role: outcome, lower_is_better: false}]")
    found = []
    for said in ([], ["--higher-is-better"], ["--lower-is-better"]):
        assert main(["analyze", "--by", "rank", runs, "--mapping", str(mapping), "--json", *said]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] != found[2]
    assert found[2]["verdict"] == "one rank"


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"time_s": [1.0, 2.0]}, [], "says nothing of MPI ranks"),
        ({"mpi.0.own_s": [1.0] * 12, "mpi.0.time_s": [0.1] * 12, "time_s": [1.0] * 12}, [], "one rank only"),
        ({"mpi.0.own_s": [1.0]}, ["--outcome", "other"], "no such column of numbers"),
        ({"mpi.0.own_s": [1.0]}, ["--alpha", "2"], "is no chance of a wrong claim"),
        ({"mpi.0.own_s": [1.0]}, ["--seed", "-1"], "is below 0"),
    ],
)
def test_what_says_nothing_is_refused_in_one_sentence(
    columns: dict[str, list[float]], options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pl.DataFrame(columns).write_csv(tmp_path / "runs.csv")
    assert main(["analyze", "--by", "rank", str(tmp_path / "runs.csv"), *(options or ["--outcome", "time_s"])]) == 1
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1


@pytest.fixture(scope="module")
def straggler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        pytest.skip("needs mpicc and mpirun: apt install libopenmpi-dev openmpi-bin")
    program = tmp_path_factory.mktemp("mpi") / "straggler"
    subprocess.run(["mpicc", "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


@pytest.mark.slow
def test_a_diagnosis_of_two_real_ranks_names_the_one_that_is_late(straggler: Path, vgo: Vgo, tmp_path: Path) -> None:
    done = vgo(
        *("diagnose", "-q", "--launcher", "mpirun:ranks=2", "--layer", "mpi", "--metric", "time_ms ([0-9.]+)"),
        *("--unit", "ms", "--min-runs", "10", "--max-runs", "24", "--budget", "900", "--allow", "none"),
        *("--", str(straggler), "sleep", "0.4"),
    )
    assert done.returncode == 0, done.stderr
    assert "Slow ones are slow because of rank 1: the others wait for it." in " ".join(done.stdout.split())
    (folder,) = tmp_path.glob("vgo-runs/*")
    with (folder / "ranks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["rank"] for row in rows} == {"0", "1"}
    assert {row["host"] for row in rows} == {os.uname().nodename}
    assert all(float(row["cpu_s"]) >= 0 and row["preemptions"].isdigit() for row in rows)
    assert "## The ranks" in (folder / "report.md").read_text()
    assert "<h2>The ranks</h2>" in (folder / "report.html").read_text()
    assert vgo("verify", str(folder)).returncode == 0
    assert vgo("verify", "--recompute", str(folder)).returncode == 0
    found = json.loads(vgo("analyze", "--by", "rank", str(folder), "--json").stdout)
    assert (found["verdict"], found["rank"]) == ("one rank", 1)
    assert found["on_cpu"] < 0.5  # it slept


@pytest.fixture
def spawner() -> Iterator[Spawner]:
    with Spawner() as opened:
        yield opened


@pytest.mark.skipif(not TWO_CPUS, reason="needs two CPUs")
@pytest.mark.parametrize(
    ("mitigation", "seen"),
    [
        ("ranks_bound_by_environment", "rank 0: {0}, rank 1: {1}"),
        ("ranks_unbound", "rank 0: {all}, rank 1: {all}"),
        ("ranks_leave_cores", "rank 0: {kept}, rank 1: {kept}"),
    ],
)
def test_a_placement_goes_through_the_launcher_and_every_rank_shows_it(
    mitigation: str, seen: str, straggler: Path, spawner: Spawner, tmp_path: Path
) -> None:
    known = load().mitigations[mitigation]
    subject = Subject(command=(str(straggler),), argv=(str(straggler), "sleep", "0.3"), directory=str(tmp_path))
    launcher = open_launcher("mpirun:ranks=2")
    machine = survey(subject, [known.applies], launcher=launcher)
    assert machine.program_mpi and machine.launcher_variables
    with applied(known, Launch(subject.argv, directory=tmp_path), subject, machine) as ready:
        (check,) = ready.prove(Through(spawner, Ways(launcher)))
        kept = sorted(ready.launch.affinity or ())
    assert check.passed, check
    cpus = sorted(os.sched_getaffinity(0))
    words = {"all": ",".join(map(str, cpus)), "kept": ",".join(map(str, kept))}
    if mitigation == "ranks_bound_by_environment":
        parts = [set(part.partition(": ")[2].split(",")) for part in check.seen.split(", rank ")]
        assert len(parts) == 2 and not parts[0] & parts[1]
    else:
        assert check.seen == seen.format(**words)


@pytest.mark.skipif(not TWO_CPUS, reason="needs two CPUs")
def test_a_flag_of_the_user_wins_and_the_proof_says_so(straggler: Path, spawner: Spawner, tmp_path: Path) -> None:
    known = load().mitigations["ranks_bound_by_environment"]
    subject = Subject(command=(str(straggler),), argv=(str(straggler), "sleep", "0.3"), directory=str(tmp_path))
    through = Through(spawner, Ways(open_launcher("mpirun:ranks=2,bind=none")))
    with applied(known, Launch(subject.argv, directory=tmp_path), subject, Machine(cpus=(0, 1))) as ready:
        (check,) = ready.prove(through)
    assert not check.passed
    assert check.expected == "no CPU is of two ranks"


@pytest.mark.parametrize(
    ("command", "launcher", "unmet"),
    [
        (["./alone"], [], "starts no MPI ranks that could be seen: name the launcher"),
        (["./job.sh"], [], ""),
        (["./alone"], ["--launcher", "mpirun:ranks=2"], ""),
    ],
)
def test_placement_is_offered_where_ranks_are_started(
    command: list[str], launcher: list[str], unmet: str, script: Callable[[str, str], Path], vgo: Vgo
) -> None:
    if not shutil.which("mpirun"):
        pytest.skip("needs mpirun: apt install openmpi-bin")
    script("alone", "# mpirun is a word of a comment only\n")
    job = script("job.sh", "")
    job.write_text("#!/bin/sh\n# start\nexec mpirun -n 2 ./alone\n")
    done = vgo("mitigations", *launcher, "--json", "ranks_unbound", "--", *command)
    assert done.returncode == 0, done.stderr
    assert (unmet in done.stdout) if unmet else ("starts no MPI ranks" not in done.stdout)


def test_the_line_to_type_tells_the_launcher_and_not_the_program(straggler: Path, vgo: Vgo) -> None:
    done = vgo("try", "ranks_unbound", "--dry-run", "--launcher", "mpirun:ranks=2", "--", str(straggler))
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "straggler" in line and "OMPI_MCA" in line)
    assert line.index("OMPI_MCA_hwloc_base_binding_policy=none") < line.index("mpirun") < line.index("straggler")


def test_without_mpirun_the_package_is_named(vgo: Vgo, tmp_path: Path) -> None:
    done = vgo(
        "measure", "--layer", "process", "--launcher", "mpirun:ranks=2", "/bin/true", env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert "apt install openmpi-bin" in done.stderr and "Traceback" not in done.stderr


def test_the_share_that_is_the_launchers_own_is_told_but_where_the_program_times_itself(vgo: Vgo) -> None:
    measured = ("measure", "--quiet", "--json", "--max-runs", "10", "--launcher", "mpirun:ranks=1")
    found = json.loads(vgo(*measured, "/bin/true").stdout)
    assert found["launcher"]["runs"] == 12 and 0.5 < found["launcher"]["share"] < 2
    assert "timed on `true`" in found["summary"] and "--metric" in found["summary"]
    timed = vgo(*measured, "--metric", "([0-9.]+)", "--", "/bin/date", "+%N")
    assert "launcher" not in json.loads(timed.stdout)
