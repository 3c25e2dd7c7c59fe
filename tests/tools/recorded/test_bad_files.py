"""Files that hold no run table: each is refused in one sentence that names the file and the cure."""

import gzip
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.recorded.read import read

from ...conftest import COMMAND

PARQUET = b"PAR1" + bytes(40) + b"PAR1"
CONTENTS = {
    "empty": (b"", "is empty: record runs"),
    "blank": (b" \n\n", "is empty: record runs"),
    "header only": (b"time,count\n", "holds no runs"),
    "no header": (b"1.5,2\n2.5,3\n", "has no header: put the names"),
    "binary": (bytes(range(256)) * 9, "is binary and no Parquet: give CSV"),
    "latin": ("time,größe\n1,2\n".encode("latin-1"), "is not UTF-8: convert it"),
    "latin far down": (b"time,host\n" + b"1,a\n" * 400_000 + b"1,\xe4\n", "is not UTF-8: convert it"),
    "utf-16": ("time,count\n1,2\n".encode("utf-16"), "is UTF-16: convert it"),
    "old mac": (b"time,count\r1,2\r3,4\r", "ends its lines by CR alone"),
    "zip": (b"PK\x03\x04rest", "is a zip archive (or a spreadsheet): unpack or export it"),
    "cut gzip": (gzip.compress(b"time,count\n1,2\n" * 99)[:40], "is a broken gzip file"),
    "damaged parquet": (PARQUET, "is no whole Parquet file"),
    "long line": (b"time,count\n1,2\n3,4,5\n", "line 3 has 3 fields, the header 2: mend the line"),
    "open quote": (b'time,host\n1,"a\n2,b\n', "is no table"),
    "other json": (json.dumps({"samples": [1, 2]}).encode(), "is JSON, but not of pyperf, hyperfine, Google"),
    "cut json of nobody": (b'{"samples": [1,\n 2', "line 2: Expecting ',' delimiter: the JSON is cut short"),
    "json lines": (b'{"samples": 1}\n{"samples": 2}\n', "is JSON, but not of pyperf, hyperfine, Google"),
    "cut json": (b'{"benchmarks": [{"runs": [{"values": [1.0,', "line 1: "),
    "odd pyperf": (
        b'{"benchmarks": [{"runs": [{"values": "x"}]}]}',
        "is no file of pyperf: benchmarks.0.runs.0.values",
    ),
    "cut perf json": (b'{"counter-value" : "1.0", "unit" : "ns", "event" : "dura', "line 1: Unterminated string"),
    "perf without events": (b"# started on Sat Nov 21 01:08:38 2026\n\n", "holds no event: give perf -x, or -j"),
    "cut google benchmark": (b'{"context": {"date": "x"}, "benchmarks": [{"name": "BM', "the JSON is cut short"),
    "odd google benchmark": (b'{"context": {}, "benchmarks": [{"name": 1}]}', "is no file of Google Benchmark"),
    "a million columns": (b"count," * 1_000_000 + b"time\n", "has a first line of more than 1 MiB"),
    "no command": (b'{"results": [], "times": []}', "is no file of hyperfine: results"),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_what_is_no_run_table_is_refused_in_one_sentence(tmp_path: Path, kind: str) -> None:
    content, words = CONTENTS[kind]
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    with pytest.raises(VgoError) as refusal:
        read(path)
    message = str(refusal.value)
    assert message.startswith(str(path)) and words in message
    assert "\n" not in message and message.endswith(".")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="There is no file .*nowhere.csv: check the path"):
        read(tmp_path / "nowhere.csv")


def test_a_folder_that_is_no_run_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(VgoError, match="is a folder without runs.csv.*: name a run folder"):
        read(tmp_path)


def test_a_folder_of_two_run_logs_is_not_guessed_at(tmp_path: Path) -> None:
    for name in ("a.csv", "a.md", "b.csv", "b.md"):
        (tmp_path / name).write_text("time,n\n1,2\n2,3\n")
    with pytest.raises(VgoError, match="is a folder without runs.csv, and without one SHARP log alone"):
        read(tmp_path)


def test_a_damaged_page_of_a_run_folder_is_said(tmp_path: Path) -> None:
    header = "order,condition,pair,ok,exit_code,survivors,outcome,wall_s"
    (tmp_path / "runs.csv").write_text(f"{header}\n0,baseline,-1,1,0,0,1.5,1.5\n")
    (tmp_path / "runs.md").write_text("```json\n{broken\n```\n")
    with pytest.raises(VgoError, match="damaged runs.md"):
        read(tmp_path)


def test_a_file_that_is_cut_while_it_is_read_is_no_end_by_a_signal(tmp_path: Path) -> None:
    """Where the file behind mapped memory becomes shorter there is SIGBUS."""
    path = tmp_path / "runs.csv"
    names = ["time", *(f"c{place}" for place in range(249))]
    path.write_text(",".join(names) + "\n" + (",".join(["1"] * len(names)) + "\n") * 10_000)
    words = [str(COMMAND), "analyze", "runs.csv", "--outcome", "time"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        while going.poll() is None:
            if str(path) in Path(f"/proc/{going.pid}/maps").read_text():
                os.truncate(path, 4096)
            time.sleep(0.002)
        answered, said = going.communicate()
    assert going.returncode == 0, said
    assert "All 10000 runs gave 1" in answered
