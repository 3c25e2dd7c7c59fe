"""A diagnosis asks the user's surface, and proposes a study of threads, where nothing else is left."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from vgo_agent.agent.cli import main

NOISY = "import random, time; time.sleep(random.choice([0.001, 0.004]))"


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    """Spread grows with threads and size: steady at threads=1, size=16."""
    folder = tmp_path_factory.mktemp("surface")
    rng = np.random.default_rng(0)
    rows = [
        {"threads": threads, "size": size, "time_s": size / threads * (1 + rng.normal(0, 0.02 * threads))}
        for threads in (1, 2, 4, 8)
        for size in (16, 32, 64, 128)
        for _ in range(6)
    ]
    pl.DataFrame(rows).write_csv(folder / "runs.csv")
    words = [str(folder / "runs.csv"), "--settings", "threads,size", "--outcome", "time_s", "--response", "sd"]
    assert main(["surface", "fit", *words, "--models", "boosting", "--save", str(folder / "kept")]) == 0
    return folder / "kept"


def diagnosed(capsys, *words):
    assert main(["diagnose", "--json", "--planner", "rules", "--allow", "none", *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_surface_is_asked_last_and_the_run_replays(tmp_path, surface, capsys):
    limits = ["--out", str(tmp_path), "--budget", "100", "--max-runs", "40"]
    found = diagnosed(capsys, *limits, "--surface", str(surface), "--", sys.executable, "-S", "-c", NOISY)
    report = (tmp_path / found["run_dir"] / "report.md").read_text()
    assert "expects its lowest sd" in report and "size=16" in report
    lines = (tmp_path / found["run_dir"] / "transcript.jsonl").read_text().splitlines()
    bodies = [json.loads(line)["body"] for line in lines]
    decided = [body["tool"] for body in bodies if body["kind"] == "decision"]
    assert decided[-2:] == ["predict_surface", "conclude"]
    assert main(["verify", "--recompute", found["run_dir"]]) == 0


def test_a_folder_without_a_surface_is_refused_before_the_first_run(tmp_path, capsys):
    assert main(["diagnose", "--surface", str(tmp_path), "--", "true"]) == 1
    assert "holds no surface.json" in capsys.readouterr().err


def test_a_study_of_threads_is_proposed_for_an_openmp_program(tmp_path, capsys):
    source = tmp_path / "team.c"
    source.write_text(
        "#include <omp.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\nint main(void) {\n"
        "  struct timespec now; clock_gettime(CLOCK_REALTIME, &now); srand(now.tv_nsec);\n"
        "  usleep(rand() % 2 ? 1000 : 4000);\n  return omp_get_max_threads() == 0;\n}\n"
    )
    program = tmp_path / "team"
    built = subprocess.run(["gcc", "-fopenmp", "-o", program, source], capture_output=True)
    if built.returncode:
        pytest.skip("gcc cannot build OpenMP programs here: apt install gcc libc6-dev")
    found = diagnosed(
        capsys, "--out", str(tmp_path / "runs"), "--budget", "100", "--max-runs", "40", "--", str(program)
    )
    assert found["verdict"].get("remedy", {}).get("kind") != "confirmed"
    report = (tmp_path / "runs" / found["run_dir"] / "report.md").read_text()
    assert "vgo-agent sweep openmp" in report
