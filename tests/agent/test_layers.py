"""Diagnoses with layers that take turns, look twice, distort: the transcript replays, and the report says so."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.record import bodies
from vgo_agent.agent.transcript import Decision, ToolEnd, read
from vgo_agent.layers.reading import trust

COMMAND = Path(sys.executable).with_name("vgo-agent")
PROGRAM = """
import os, random
slow = random.random() < 0.4
print("time", 10 + 2 * slow + random.gauss(0, 0.05) + float(os.environ.get("EXTRA", "0")))
print("calls", 40 + random.randrange(9) if slow else 5 + random.randrange(9))
print("noise", random.randrange(1000))
"""
LAYER = """\
key: {key}
description: Reads what the program prints.
run: env {set} $CMD $ARGS
heavy: {heavy}
columns:
  - {{name: {key}.{name}, unit: count, description: Printed {name}., innate: true,
     extract: {{regex: "{name} ([0-9]+)"}}}}
"""
OPTIONS = (
    "--metric",
    "time ([0-9.]+)",
    "--unit",
    "ms",
    "--max-runs",
    "60",
    "--budget",
    "3600",
    "--allow",
    "none",
    "--json",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A program, and layers that wrap it: light and blind, heavy and telling, heavy and slow."""
    path = tmp_path_factory.mktemp("layers")
    (path / "program.py").write_text(f"#!{sys.executable} -IS\n{PROGRAM}")
    (path / "program.py").chmod(0o755)
    for key, name, env, heavy in (
        ("blind", "noise", "NOTHING=1", False),
        ("telling", "calls", "EXTRA=0.05", True),
        ("heaving", "calls", "EXTRA=90", True),
    ):
        (path / f"{key}.yaml").write_text(LAYER.format(key=key, name=name, set=env, heavy=str(heavy).lower()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(path / "state"))
        for key in ("blind", "telling", "heaving"):
            trust([path / f"{key}.yaml"])
    return path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
    return subprocess.run(
        [COMMAND, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | home,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def diagnosed(folder):
    """Diagnose once with a light layer and two heavy ones, of which one distorts."""
    layers = [word for key in ("heaving", "telling", "blind") for word in ("--layer", f"./{key}.yaml")]
    done = run(folder, "diagnose", *OPTIONS, *layers, "./program.py")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return folder / answer["run_dir"], answer


def ends(run_dir: Path, tool: str) -> list[dict[str, Any]]:
    events = read(run_dir / "transcript.jsonl")
    of = {decision.call_id: decision.tool for decision in bodies(events, Decision)}
    return [end.result for end in bodies(events, ToolEnd) if of[end.call_id] == tool and end.result is not None]


@pytest.mark.slow
def test_the_cause_is_found_by_the_heavy_layer_that_stands(diagnosed):
    _, answer = diagnosed
    assert answer["verdict"]["cause"]["parts"][0]["column"] == "telling.calls"
    assert answer["verdict"]["remedy"]["kind"] in ("refuted", "not tried")


@pytest.mark.slow
def test_the_layer_that_distorts_is_set_aside_and_said_to_be(diagnosed):
    run_dir, answer = diagnosed
    (ranked,) = ends(run_dir, "rank_factors")
    assert ranked["set_aside"]["heaving.calls"].startswith("layer set aside: it shifts the mean by +")
    assert any("./heaving.yaml" in warning and "set aside" in warning for warning in answer["warnings"])


@pytest.mark.slow
def test_the_report_shows_what_each_set_of_layers_costs_and_how_alpha_was_spent(diagnosed):
    run_dir, _ = diagnosed
    page = (run_dir / "report.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith(("| ./", "| + ./"))]
    assert len(rows) == 3 and all("%" in row for row in rows), page
    assert sum("set aside: it shifts the mean by +" in row for row in rows) == 1
    assert "- Search: 0.05 of alpha 0.05, split over the order of the runs and ./blind.yaml (120 runs" in page
    html = (run_dir / "report.html").read_text()
    assert "<h2>The layers</h2>" in html and "set aside: it shifts the mean by" in html


@pytest.mark.slow
def test_a_diagnosis_whose_layers_took_turns_replays(diagnosed, folder):
    run_dir, _ = diagnosed
    for command in (("verify",), ("verify", "--recompute")):
        done = run(folder, *command, str(run_dir), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["ok"] is True


@pytest.mark.slow
def test_replay_does_not_need_the_layer_files(diagnosed, folder, tmp_path):
    run_dir, _ = diagnosed
    done = run(tmp_path, "verify", "--recompute", str(run_dir), "--json")
    assert json.loads(done.stdout)["ok"] is True


def test_a_layer_that_shows_nothing_here_is_refused_before_the_first_run(folder, vgo):
    (folder / "gone.yaml").write_text(
        "key: gone\ndescription: Not here.\nneeds: [no-such-tool]\ncure: install no-such-tool\ncolumns:\n"
        '  - {name: gone.x, unit: count, description: X., extract: {regex: "x"}}\n'
    )
    done = vgo("diagnose", *OPTIONS, "--layer", "./gone.yaml", "./program.py", cwd=str(folder))
    assert done.returncode == 1
    assert "measure" not in done.stderr
    assert "no-such-tool" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_auto_looks_with_light_layers_first_and_with_heavy_ones_only_if_those_show_nothing(folder):
    """What is printed is random, so the light layers show nothing; every layer of this machine has its chance."""
    noise = folder / "noise.py"
    noise.write_text(f"#!{sys.executable} -IS\nimport random\nprint('time', 10 + random.gauss(0, 1))")
    noise.chmod(0o755)
    options = [*OPTIONS, "--layer", "auto", "--max-runs", "40", "--alpha", "0.001"]
    done = run(folder, "diagnose", *options, "./noise.py")
    assert done.returncode == 0, done.stderr
    run_dir = folder / json.loads(done.stdout)["run_dir"]
    looks = ends(run_dir, "profile")
    assert "process" in looks[0]["layers"]
    assert len(looks) == (2 if looks[0]["later"] else 1)
    if len(looks) == 2:
        assert set(looks[1]["layers"]) <= set(looks[0]["later"])
    shares = [ranked["look_share"] for ranked in ends(run_dir, "rank_factors")]
    assert shares in ([1.0], [0.8], [0.8, 0.2])
    assert run(folder, "verify", "--recompute", str(run_dir), "--json").returncode == 0
    assert "the layer " in (run_dir / "report.md").read_text()
