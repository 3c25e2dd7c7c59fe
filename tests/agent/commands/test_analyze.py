"""The front door of analyze: recorded tables in, verdicts out."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Vgo = Callable[..., subprocess.CompletedProcess[str]]
N = 120


def two_speeds(seed: int = 1, n: int = N) -> dict[str, Any]:
    """Runs with a slow mode that faults make, counters that follow run time, and counters that know nothing."""
    rng = np.random.default_rng(seed)
    slow = rng.random(n) < 0.25
    time = rng.normal(1, 0.02, n) + 0.4 * slow
    noise = {f"noise{place}": rng.lognormal(0, 0.3, n) for place in range(8)}
    faults = rng.poisson(np.where(slow, 900, 100)).astype(float)
    return {
        "time": time,
        "faults": faults,
        "pages": 4 * faults,
        "fault_kb": 4 * faults + rng.normal(0, 1, n),
        "ticks": 250 * time * rng.normal(1, 0.01, n),
        "constant": np.ones(n),
        **noise,
    }


def nothing(seed: int = 2, n: int = 60) -> dict[str, Any]:
    """Runs that nothing explains."""
    rng = np.random.default_rng(seed)
    return {"time": rng.lognormal(0, 0.4, n), **{f"noise{place}": rng.lognormal(0, 0.3, n) for place in range(20)}}


def write(folder: Path, columns: dict[str, Any], name: str = "runs.csv") -> str:
    frame = pl.DataFrame(columns)
    if name.endswith(".csv"):
        frame.write_csv(folder / name)
    else:
        frame.write_parquet(folder / name)
    return name


def analysis(vgo: Vgo, *arguments: str) -> dict[str, Any]:
    done = vgo("analyze", *arguments, "--json")
    found = json.loads(done.stdout)
    assert isinstance(found, dict) and done.stderr == ""
    return found


@pytest.mark.parametrize("name", ["runs.csv", pytest.param("runs.parquet", marks=pytest.mark.slow)])
def test_a_planted_cause_is_found_named_and_told_from_its_consequences(vgo: Vgo, tmp_path: Path, name: str) -> None:
    found = analysis(vgo, write(tmp_path, two_speeds(), name), "--outcome", "time", "--lower-is-better")
    assert found["verdict"] == "cause explained" and found["p_value"] < 0.01
    first = found["factors"][0]
    assert "faults" in first["members"] and first["visible"]
    assert first["direction"] == "more" and first["evidence"] == "association"
    assert first["auc_low"] <= first["auc"] <= first["auc_high"]
    assert {"ticks", "constant"} <= found["set_aside"].keys()
    assert found["classes"]["kind"] == "modes" and sum(found["classes"]["sizes"]) == found["runs"] == N
    assert found["tree"]["cross_validated"] > 0.9
    assert len(found["shape"]["modes"]) == 2


def test_noise_has_no_visible_factor_and_says_what_would_have_been_seen(vgo: Vgo, tmp_path: Path) -> None:
    found = analysis(vgo, write(tmp_path, nothing()), "--outcome", "time", "--lower-is-better")
    assert found["verdict"] == "cause not visible" and found["p_value"] > 0.05
    assert 0.6 < found["detectable_auc"] < 1
    assert not any(factor["visible"] for factor in found["factors"])


def test_ten_runs_are_too_few_and_two_slow_ones_no_class(vgo: Vgo, tmp_path: Path) -> None:
    few = vgo("analyze", write(tmp_path, two_speeds(n=10)), "--outcome", "time", "--json")
    assert few.returncode == 1 and json.loads(few.stdout)["verdict"] == "unusable"
    columns = nothing()
    cut = float(np.sort(columns["time"])[-3])
    found = analysis(vgo, write(tmp_path, columns), "--outcome", "time", "--cut", repr(cut))
    assert found["verdict"] == "unusable" and "2 runs" in found["reason"]


def test_steady_runs_have_nothing_to_reduce(vgo: Vgo, tmp_path: Path) -> None:
    columns = nothing() | {"time": np.random.default_rng(3).normal(1, 0.001, 60)}
    assert analysis(vgo, write(tmp_path, columns), "--outcome", "time")["verdict"] == "steady"
    columns["time"] = np.full(60, 2.5)
    assert analysis(vgo, write(tmp_path, columns), "--outcome", "time")["verdict"] == "steady"


def test_steady_runs_that_shift_by_next_to_nothing_are_not_said_to_drift(vgo: Vgo, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    noise = rng.normal(size=60) + 4 * (np.arange(60) > 30)
    steady = {"time": 10 + 0.01 * noise, "counter": rng.random(60)}
    found = analysis(vgo, write(tmp_path, steady), "--outcome", "time")
    assert found["verdict"] == "steady" and found["shape"]["drift"]
    assert not any("drifts" in words for words in found["warnings"])
    restless = {**steady, "time": 10 + noise}
    warned = analysis(vgo, write(tmp_path, restless), "--outcome", "time")["warnings"]
    assert any("drifts" in words for words in warned)


def test_a_table_of_many_kinds_of_runs_is_told_with_the_command_that_looks_at_each(vgo: Vgo, tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    kernel = rng.permutation(np.repeat(np.arange(6), 40))
    faults = rng.poisson(20, 240)
    columns = {"time": 10 * (kernel + 1) + 0.02 * faults, "kernel": [f"k{one}" for one in kernel], "faults": faults}
    table = write(tmp_path, columns)
    found = analysis(vgo, table, "--outcome", "time")
    assert found["strata"]["columns"] == ["kernel"] and found["strata"]["share"] > 0.95
    told = " ".join(vgo("analyze", table, "--outcome", "time").stdout.split())
    assert "lies between the 6 cells of kernel" in told
    assert "analyze runs.csv --outcome time --group kernel`" in told
    assert "strata" not in analysis(vgo, table, "--outcome", "time", "--group", "kernel")


def test_words_for_people_name_verdict_factor_and_what_was_set_aside(vgo: Vgo, tmp_path: Path) -> None:
    told = vgo("analyze", write(tmp_path, two_speeds()), "--outcome", "time").stdout
    assert told.startswith("CAUSE EXPLAINED\n")
    for words in ("faults", "Set aside", "`ticks`  ", "AUC", "on unseen runs", "association is no proof"):
        assert words in told
    assert max(map(len, told.split("\n"))) < 140


def test_the_unit_of_the_outcome_changes_no_finding(vgo: Vgo, tmp_path: Path) -> None:
    columns = two_speeds()
    one = analysis(vgo, write(tmp_path, columns), "--outcome", "time")
    other = analysis(vgo, write(tmp_path, columns | {"time": 1000 * columns["time"]}), "--outcome", "time")
    assert (one["verdict"], one["p_value"]) == (other["verdict"], other["p_value"])
    assert one["set_aside"].keys() == other["set_aside"].keys()
    for a, b in zip(one["factors"], other["factors"], strict=True):
        assert a == {**b, "r2": pytest.approx(b["r2"])}


def test_a_throughput_is_the_mirror_image(vgo: Vgo, tmp_path: Path) -> None:
    columns = two_speeds()
    speed = {"speed": 1 / columns.pop("time"), **columns}
    found = analysis(vgo, write(tmp_path, speed), "--outcome", "speed", "--higher-is-better")
    assert found["verdict"] == "cause explained"
    assert "faults" in found["factors"][0]["members"]
    assert found["factors"][0]["direction"] == "more"


def test_shuffled_rows_with_an_order_column_give_the_same_answer(vgo: Vgo, tmp_path: Path) -> None:
    columns = two_speeds() | {"number": np.arange(N)}
    shuffled = np.random.default_rng(4).permutation(N)
    options = ("--outcome", "time", "--order", "number")
    one = analysis(vgo, write(tmp_path, columns), *options)
    other = analysis(vgo, write(tmp_path, {name: values[shuffled] for name, values in columns.items()}), *options)
    assert one == other


def test_each_group_has_its_own_verdict_and_pays_for_the_others(vgo: Vgo, tmp_path: Path) -> None:
    left, right = two_speeds(), two_speeds(5)
    right["time"] = np.random.default_rng(11).lognormal(0, 0.3, N)
    both = {name: np.concatenate([left[name], right[name]]) for name in left}
    both["kernel"] = np.repeat(["a", "b"], N)
    found = analysis(vgo, write(tmp_path, both), "--outcome", "time", "--group", "kernel")
    assert [part["group"] for part in found["groups"]] == [{"kernel": "a"}, {"kernel": "b"}]
    assert [part["verdict"] for part in found["groups"]] == ["cause explained", "cause not visible"]
    assert all(part["p_adjusted"] >= part["p_value"] for part in found["groups"])
    told = vgo("analyze", "runs.csv", "--outcome", "time", "--group", "kernel").stdout
    assert "kernel=a" in told and "kernel=b" in told and "P OVER ALL GROUPS" in told


def test_a_setting_varied_in_mixed_order_is_an_intervention(vgo: Vgo, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    host = rng.choice(["red", "green", "blue"], N)
    time = rng.normal(1, 0.05, N) + 0.3 * (host == "blue")
    columns = {"time": time, "host": host, **{f"n{place}": rng.random(N) for place in range(5)}}
    found = analysis(vgo, write(tmp_path, columns), "--outcome", "time", "--settings", "host")
    first = found["factors"][0]
    assert (first["name"], first["role"], first["evidence"]) == ("host", "setting", "intervention")
    order = np.argsort(host, kind="stable")
    blocks = {name: np.asarray(values)[order] for name, values in columns.items()}
    found = analysis(vgo, write(tmp_path, blocks), "--outcome", "time", "--settings", "host")
    assert found["factors"][0]["evidence"] == "intervention in blocks"


def test_the_searched_cut_pays_for_its_freedom(vgo: Vgo, tmp_path: Path) -> None:
    found = analysis(vgo, write(tmp_path, nothing(8, 100)), "--outcome", "time", "--cut", "search")
    assert found["verdict"] == "cause not visible"
    assert found["cut_search"] is not None and found["p_value"] > 0.05
    found = analysis(vgo, write(tmp_path, two_speeds()), "--outcome", "time", "--cut", "search")
    assert found["verdict"] == "cause explained"


def test_pictures_tree_and_page_are_saved_and_need_nothing_from_outside(vgo: Vgo, tmp_path: Path) -> None:
    done = vgo("analyze", write(tmp_path, two_speeds()), "--outcome", "time", "--save", "out")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"analysis.json", "analysis.html", "tree.txt", "tree.json", "tree.svg", "distribution.svg"} <= names
    for path in (tmp_path / "out").glob("*.svg"):
        assert ElementTree.fromstring(path.read_text()).tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in path.read_text()
    page = (tmp_path / "out" / "analysis.html").read_text()
    assert "vgo-agent analyze runs.csv --outcome time --save out" in page
    assert "src=" not in page and "<link" not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("absent.csv", "--outcome", "time"), "absent.csv"),
        (("runs.csv", "--outcome", "tiem"), "time"),
        (("runs.csv",), "--outcome"),
        (("runs.csv", "--outcome", "time", "--group", "nope"), "nope"),
        (("runs.csv", "--outcome", "time", "--cut", "sometimes"), "between-modes"),
        (("runs.csv", "--outcome", "time", "--alpha", "2"), "--alpha"),
        (("runs.csv", "--outcome", "time", "--steady-cv", "-1"), "--steady-cv"),
        (("empty.csv", "--outcome", "time"), "empty.csv"),
        (("runs.csv", "--outcome", "time", "--cut", "1e9"), "cut"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    vgo: Vgo, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    write(tmp_path, nothing())
    (tmp_path / "empty.csv").write_text("")
    done = vgo("analyze", *arguments)
    assert done.returncode == 1
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr and done.stderr.count("\n") <= 1


@pytest.mark.slow
def test_ten_thousand_columns_and_fifty_runs_are_answered(vgo: Vgo, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    columns = {"time": rng.lognormal(0, 0.4, 50)}
    values = rng.random((50, 10_000))
    columns |= {f"c{place}": values[:, place] for place in range(10_000)}
    found = analysis(vgo, write(tmp_path, columns, "wide.parquet"), "--outcome", "time", "--lower-is-better")
    assert found["verdict"] == "cause not visible"
