"""power: from a table to a number of runs, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Vgo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    rows = zip(rng.normal(1, 0.05, 300), rng.lognormal(0, 1, 300), strict=True)
    path = tmp_path / "runs.csv"
    path.write_text("time_s,other,flat,word\n" + "".join(f"{a:.6f},{b:.6f},7,x\n" for a, b in rows))
    return path


def test_it_says_how_many_runs_show_the_change_and_how_surely_that_is_known(vgo: Vgo, runs: Path) -> None:
    done = vgo("compare", str(runs), "--metric", "time_s", "--plan", "0.66", "--json")
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)
    power = planned["power"]
    assert 45 <= power["low"] <= power["runs"] <= power["high"] <= 85, "62 for a normal law"
    assert [point["runs"] for point in power["curve"]] == sorted(point["runs"] for point in power["curve"])
    assert all(point["low"] <= point["power"] <= point["high"] for point in power["curve"])
    assert (planned["metric"], power["recorded"], power["paired"], planned["notes"]) == ("time_s", 300, False, [])


def test_the_words_say_the_same_and_say_it_again(vgo: Vgo, runs: Path) -> None:
    given = ("compare", str(runs), "--metric", "time_s", "--plan", "0.5", "--paired")
    shown = [vgo(*given).stdout for _ in range(2)]
    assert shown[0] == shown[1]
    assert "pairs (" in shown[0] and "an SD of 0.5 times the recorded one" in shown[0]


@pytest.mark.slow
def test_a_cure_of_rare_runs_is_another_question(vgo: Vgo, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(1, 0.02, 400) + 0.5 * (rng.random(400) < 0.15)
    path = tmp_path / "bimodal.csv"
    path.write_text("t\n" + "".join(f"{value:.6f}\n" for value in values))

    def needed(kind: str) -> int:
        done = vgo("compare", str(path), "--plan", "0.66", "--kind", kind, "--json")
        return int(json.loads(done.stdout)["power"]["runs"])

    assert needed("scale") > 1.3 * needed("tail")


def test_it_warns_of_few_and_of_dependent_runs_and_of_gaps(vgo: Vgo, tmp_path: Path) -> None:
    steps = np.random.default_rng(3).normal(size=40).cumsum()
    path = tmp_path / "few.csv"
    path.write_text("t,n\n" + "".join(f"{value:.6f},1\n" for value in steps) + ",1\n")
    done = vgo("compare", str(path), "--metric", "t", "--plan", "0.5")
    assert done.returncode == 0, done.stderr
    assert "1 of 41 runs have no finite value" in done.stdout
    assert "Only 40 runs show the shape" in done.stdout
    assert "Neighbouring runs resemble each other" in done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--metric", "time_s", "--plan", "1"), "--plan 1 is no change"),
        (("--metric", "time_s", "--plan", "-2"), "--plan -2 does not lie above 0"),
        (("--metric", "time_s", "--plan", "0"), "--plan 0 does not lie above 0 and below 100"),
        (("--metric", "time_s", "--plan", "1.5", "--kind", "tail"), "cannot raise the spread"),
        (("--metric", "time_s", "--plan", "0.1", "--kind", "tail"), "cannot reach --plan 0.1; choose a larger ratio"),
        (("--metric", "time_s", "--plan", "0.5", "--power", "0.01"), "--power 0.01 must lie above"),
        (("--metric", "time_s", "--plan", "0.5", "--alpha", "0.7"), "--alpha 0.7 is no chance"),
        (("--metric", "time_s", "--plan", "0.5", "--seed", "-1"), "--seed -1 is below 0"),
        (("--metric", "tim", "--plan", "0.5"), "has no column tim; it has time_s, other, flat"),
        (("--metric", "word", "--plan", "0.5"), "is not of numbers"),
        (("--metric", "flat", "--plan", "0.5"), "no spread to lower"),
        (("--plan", "0.5"), "--metric can be time_s, other, flat"),
    ],
)
def test_what_no_number_of_runs_answers_is_refused_in_one_sentence(
    vgo: Vgo, runs: Path, options: tuple[str, ...], says: str
) -> None:
    done = vgo("compare", str(runs), *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr


def test_the_only_column_of_numbers_needs_no_name(vgo: Vgo, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("word,t\n" + "".join(f"x,{value % 7}\n" for value in range(40)))
    done = vgo("compare", str(path), "--plan", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metric"] == "t"


def test_nineteen_runs_are_refused(vgo: Vgo, tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("t\n" + "".join(f"{value}\n" for value in range(19)))
    done = vgo("compare", str(path), "--metric", "t", "--plan", "0.5")
    assert done.returncode == 1
    assert "19 finite runs in t, and a shape takes at least 20" in done.stderr
