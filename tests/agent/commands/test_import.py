"""The front door of import: what was understood of a file, and what it is saved as."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Vgo = Callable[..., subprocess.CompletedProcess[str]]
DATA = Path(__file__).parents[4] / "shared" / "data"
ROWS = "".join(f"{1 + 0.01 * (n % 7):.2f},{100 + n % 5},{n % 2},{'ab'[n % 2]},3,{60 + n % 3}\n" for n in range(30))
TABLE = f"time_s,faults,odd,host,same,temp\n{ROWS}"
MAPPING = """\
columns:
  - {name: time_s, role: outcome, lower_is_better: true}
  - {name: host, role: setting}
  - {name: temp, unit: C, level: true, description: Of the package.}
system: {cpu: Some CPU}
"""


def shown(vgo: Vgo, *arguments: str) -> dict[str, Any]:
    done = vgo("analyze", "--read-only", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_a_plain_table_is_shown_with_the_columns_that_may_be_its_outcome(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(TABLE)
    found = shown(vgo, "runs.csv")
    assert (found["format"], found["rows"], found["runs"], found["outcome"]) == ("csv", 30, None, None)
    assert found["candidates"][0] == "time_s"
    assert found["next"] == "vgo-agent analyze runs.csv --outcome time_s"
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["faults"] | {"description": ""} == {
        "name": "faults",
        "kind": "number",
        "role": "factor",
        "unit": "",
        "description": "",
        "missing": 0,
        "distinct": 5,
        "low": 100,
        "median": 102,
        "high": 104,
        "set_aside": "",
    }
    assert columns["host"]["kind"] == "text" and "--settings" in columns["host"]["set_aside"]
    assert columns["same"]["set_aside"] == "constant (always 3)"


def test_with_a_mapping_everything_is_understood_and_said_in_words(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(TABLE)
    (tmp_path / "map.yaml").write_text(MAPPING)
    said = vgo("analyze", "--read-only", "runs.csv", "--mapping", "map.yaml").stdout
    assert "runs.csv: csv, 30 rows, 6 columns." in said
    assert "Outcome: time_s in s, lower is better." in said and "Order: that of the file." in said
    assert "  same  constant (always 3)" in said and "  cpu  Some CPU" in said
    assert said.endswith("Next:  vgo-agent analyze runs.csv --mapping map.yaml\n")
    rows = {line.split()[0]: line.split()[1:4] for line in said.splitlines() if "  " in line and line[0] != " "}
    assert rows["temp"] == ["number", "factor", "C"] and rows["host"][:2] == ["text", "setting"]


@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "runlogs"])
def test_what_is_saved_is_understood_the_same(vgo: Vgo, tmp_path: Path, target: str) -> None:
    (tmp_path / "runs.csv").write_text(TABLE)
    (tmp_path / "map.yaml").write_text(MAPPING)
    before = shown(vgo, "runs.csv", "--mapping", "map.yaml", "--save", target)
    after = shown(vgo, before["saved"][0])
    own = {column["name"] for column in before["columns"]}
    assert [column for column in after["columns"] if column["name"] in own] == before["columns"]
    for what in ("runs", "outcome", "unit", "lower_is_better", "system", "group"):
        assert after[what] == before[what]


def test_what_is_saved_is_analysed_the_same_without_the_mapping(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(TABLE)
    (tmp_path / "map.yaml").write_text(MAPPING)
    saved = shown(vgo, "runs.csv", "--mapping", "map.yaml", "--save", "out.parquet")
    first = json.loads(vgo("analyze", "runs.csv", "--mapping", "map.yaml", "--json").stdout)
    again = json.loads(vgo(*saved["next"].split()[1:], "--json").stdout)
    for what in ("verdict", "p_value", "runs", "factors"):
        assert again[what] == first[what]


def test_groups_of_one_file_are_analysed_one_by_one_unless_told_otherwise(vgo: Vgo, tmp_path: Path) -> None:
    def runs(start: float) -> list[dict[str, Any]]:
        return [{"values": [start + 0.01 * (n % 7)]} for n in range(30)]

    benchmarks = [{"metadata": {"name": name}, "runs": runs(start)} for name, start in (("a", 1.0), ("b", 5.0))]
    (tmp_path / "py.json").write_text(json.dumps({"benchmarks": benchmarks}))
    assert (shown(vgo, "py.json")["group"], shown(vgo, "py.json")["groups"]) == (["benchmark"], 2)
    grouped = json.loads(vgo("analyze", "py.json", "--json").stdout)
    assert [group["group"] for group in grouped["groups"]] == [{"benchmark": "a"}, {"benchmark": "b"}]
    whole = json.loads(vgo("analyze", "py.json", "--settings", "benchmark", "--json").stdout)
    assert whole["runs"] == 60 and whole["factors"][0]["name"] == "benchmark"


def test_what_cannot_be_read_mapped_or_saved_is_one_sentence(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(TABLE)
    (tmp_path / "map.yaml").write_text("columns: [{name: tme, role: outcome}]\n")
    wrong = {
        ("nowhere.csv",): "There is no file nowhere.csv",
        ("runs.csv", "--mapping", "map.yaml"): "which the mapping describes: did you mean",
        ("runs.csv", "--mapping", "none.yaml"): "check --mapping",
        ("runs.csv", "--save", "out.xlsx"): "name it *.parquet or *.csv",
        ("runs.csv", "--save", "runs.csv"): "never written over",
    }
    for words, sentence in wrong.items():
        done = vgo("analyze", "--read-only", *words)
        assert (done.returncode, done.stdout) == (1, "") and sentence in done.stderr
        assert done.stderr.count("\n") == 1


PUBLISHED = {
    "compression-cloud/bzip2.csv.gz": (5940, {"server": 33, "replication": 10}),
    "compression-cloud/gzip.csv.gz": (10080, {"server": 28, "replication": 10}),
    "rajaperf-trials/rajaperf_quartz_trials.csv.gz": (3350, {"kernel": 67, "trial": 10}),
    "moana-half/sample_input4d.csv": (432, {"throughput_variance": 432}),
    "smt-atomic-queue/ryzen_5825u_runs.csv.gz": (14982, {"run": 33, "unit": 2}),
    "stressng-profiles/results.csv.gz": (27677, {"machine": 51}),
    "sharp-runlogs/sleep_fast.md": (10, {"launch_id": 1}),
    "pyperf-json/telco.json": (120, {"process": 40}),
}


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data are not here ({DATA})")
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_set_is_shown_as_its_readme_says(vgo: Vgo, name: str) -> None:
    rows, distinct = PUBLISHED[name]
    found = shown(vgo, str(DATA / name))
    assert found["rows"] == rows
    assert {one["name"]: one["distinct"] for one in found["columns"] if one["name"] in distinct} == distinct


def test_a_place_that_ends_as_a_folder_and_is_named_as_a_file_is_refused(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s\n1\n2\n3\n")
    done = vgo("analyze", "--read-only", "t.csv", "--save", "u.csv/")
    assert done.returncode == 1 and "leave out the slash or the ending" in done.stderr
    assert not (tmp_path / "u.csv").exists()
