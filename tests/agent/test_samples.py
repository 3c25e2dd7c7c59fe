"""A program that prints its samples is diagnosed by them: few runs, many samples, phases as factors."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("vgo-agent")
PIPELINE = """
import json, os, random
for video in range(20):
    chance = random.Random(os.urandom(8))
    decode = 20 + chance.random() + (30 if chance.random() < 0.25 else 0)
    phases = {"decode_ms": decode, "copy_ms": 5 + chance.random(), "segment_ms": 40 + chance.random()}
    print(json.dumps({"video": f"v{video % 3}", **phases, "total_ms": sum(phases.values())}))
"""
"""Numbers, not times: a quarter of the videos takes long to decode, however fast the machine is."""


def diagnose(folder, *options):
    (folder / "pipeline.py").write_text(PIPELINE)
    return subprocess.run(
        [COMMAND, "diagnose", *options, "--", sys.executable, "-IS", "pipeline.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=250,
    )


@pytest.mark.slow
def test_the_slow_phase_of_few_runs_is_named(tmp_path):
    done = diagnose(tmp_path, "--per-iteration", "json", "--metric", "total_ms", "--max-runs", "200", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["verdict"]["cause"]["parts"][0]["column"] == "program.decode_ms"
    with (Path(answer["run_dir"]) / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["program.video"] for row in rows} == {"v0", "v1", "v2"}
    assert max(int(row["program.run"]) for row in rows) < 40, "a run gives twenty samples"
    for check in (("verify",), ("verify", "--recompute")):
        again = subprocess.run([COMMAND, *check, answer["run_dir"]], capture_output=True, text=True, timeout=250)
        assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--per-iteration", "json"), "--per-iteration needs the name of the field"),
        (("--per-iteration", "t=(", "--metric", "t"), "neither csv nor json nor a regular expression"),
        (("--per-iteration", "t=(?P<time>.*)", "--metric", "t"), "is no named group of --per-iteration (it has time)"),
        (("--per-iteration", "csv", "--metric", "total_ms"), "none is a sample with the field total_ms (CSV"),
        (("--per-iteration", "json", "--metric", "video"), "as video of sample 1, which is no number"),
    ],
)
@pytest.mark.cells(2)
def test_what_cannot_be_read_is_told_before_the_first_measured_run(tmp_path, options, said):
    done = diagnose(tmp_path, *options)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") <= 3
