"""`runs`: what a list shows of finished, cut and broken runs."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.agent.transcript import Decision, RunEnd, RunStart, ToolEnd, Transcript, VerdictGiven
from vgo_agent.tools.claim import Claim
from vgo_agent.tools.subject import Limits, Subject
from vgo_agent.tools.verdict import Confirmed, Diagnosis, Explained, Found, title, to_json

Vgo = Callable[..., subprocess.CompletedProcess[str]]
CLAIM = Claim(
    measure="sd",
    ratio=0.213,
    low=0.1,
    high=0.4,
    level=0.95,
    p_value=0.01,
    units=(40, 40),
    design="randomised",
    margin=0.66,
)
VERDICT = Diagnosis(
    cause=Explained(parts=(Found(factor="page_faults", name="Minor page faults", column="minor_faults"),)),
    remedy=Confirmed(mitigation="jemalloc", claim=CLAIM, sd=CLAIM, comparison="c001", command="./bench.sh"),
    evidence=("c001",),
)
PADDING = "x" * 200_000
"""More than is read from the end."""


def finished(folder: Path, at: str = "2025-03-14T09:26:53+00:00", command: tuple[str, ...] = ("./bench.sh",)) -> Path:
    """A run as a diagnosis leaves it, with an event too long to be read on the way."""
    folder.mkdir(parents=True)
    (folder / "timing.jsonl").write_text(json.dumps({"what": "begun", "at": at}) + "\n")
    transcript = Transcript.open(folder / "transcript.jsonl")
    subject = Subject(command=command, argv=command, directory="/")
    transcript.append(RunStart(subject=subject, limits=Limits(), planner="rules", machine="", knowledge="", schemas=""))
    for call, tool, result in (
        ("c001", "measure", {"summary": PADDING}),
        ("c002", "conclude", {"verdict": to_json(VERDICT)}),
    ):
        transcript.append(Decision(call_id=call, tool=tool, arguments={}, why="", origin="rules", legal=(tool,)))
        transcript.append(ToolEnd(call_id=call, result=result))
    transcript.append(VerdictGiven(verdict=title(VERDICT), evidence=(4,)))
    transcript.append(RunEnd(status="finished", count=len(transcript.events), tip=transcript.tip))
    return folder / "transcript.jsonl"


def listed(vgo: Vgo) -> list[dict[str, Any]]:
    ran = vgo("runs", "--json")
    assert ran.returncode == 0, ran.stderr
    runs: list[dict[str, Any]] = json.loads(ran.stdout)["runs"]
    return runs


def test_without_runs_it_says_how_to_make_one(vgo: Vgo) -> None:
    shown = vgo("runs")
    assert (shown.returncode, shown.stdout) == (
        0,
        "There are no runs in vgo-runs yet; `vgo-agent demo` makes one.\n",
    )
    assert listed(vgo) == []


def test_a_finished_run_is_shown_with_its_finding(vgo: Vgo, tmp_path: Path) -> None:
    finished(tmp_path / "vgo-runs" / "a")
    assert vgo("runs", env={"TZ": "UTC"}).stdout == (
        "            WHEN  VERDICT                            FACTOR       RATIO  COMMAND     FOLDER\n"
        "2025-03-14 09:26  cause explained, remedy confirmed  page_faults   0.21  ./bench.sh  vgo-runs/a\n"
    )


def test_the_newest_run_comes_first(vgo: Vgo, tmp_path: Path) -> None:
    for day in ("02", "03", "01"):
        finished(tmp_path / "vgo-runs" / f"run-{day}", f"2025-03-{day}T09:00:00+00:00")
    assert [run["folder"] for run in listed(vgo)] == [f"vgo-runs/run-{day}" for day in ("03", "02", "01")]


def test_the_middle_of_a_transcript_is_not_read(vgo: Vgo, tmp_path: Path) -> None:
    path = finished(tmp_path / "vgo-runs" / "a")
    path.write_bytes(path.read_bytes().replace(PADDING.encode(), b"\xff" * len(PADDING)))
    assert listed(vgo)[0]["verdict"] == title(VERDICT)


@pytest.mark.parametrize("broken", [b"", b"[]\n", b"\xff\n", b'{"seq": 0}\n', b"{" * 100_000 + b"\n"])
def test_a_broken_run_is_listed_as_such_beside_the_others(vgo: Vgo, tmp_path: Path, broken: bytes) -> None:
    finished(tmp_path / "vgo-runs" / "good")
    finished(tmp_path / "vgo-runs" / "bad").write_bytes(broken)
    assert {run["folder"]: run["verdict"] for run in listed(vgo)} == {
        "vgo-runs/good": title(VERDICT),
        "vgo-runs/bad": "(broken)",
    }


def test_a_folder_that_is_no_run_is_listed_as_such_and_files_are_passed_over(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "vgo-runs" / "notes").mkdir(parents=True)
    (tmp_path / "vgo-runs" / "file").write_text("")
    assert [(run["folder"], run["verdict"]) for run in listed(vgo)] == [("vgo-runs/notes", "(no transcript)")]


@pytest.mark.parametrize(("events_kept", "torn"), [(5, b""), (5, b'{"body'), (6, b"")])
def test_a_run_that_was_cut_is_unfinished(vgo: Vgo, tmp_path: Path, events_kept: int, torn: bytes) -> None:
    path = finished(tmp_path / "vgo-runs" / "a")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:events_kept]) + torn)
    assert [run["verdict"] for run in listed(vgo)] == ["(unfinished)"]


def test_an_interrupted_run_is_shown_as_such(vgo: Vgo, tmp_path: Path) -> None:
    path = finished(tmp_path / "vgo-runs" / "a")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    transcript = Transcript.open(path)
    transcript.append(RunEnd(status="interrupted", count=len(transcript.events), tip=transcript.tip))
    assert [run["verdict"] for run in listed(vgo)] == ["(interrupted)"]


def test_a_command_cannot_steer_the_terminal(vgo: Vgo, tmp_path: Path) -> None:
    finished(tmp_path / "vgo-runs" / "a", command=("./bench.sh", "\x1b[2J\nfake"))
    shown = vgo("runs").stdout
    assert "\x1b" not in shown
    assert shown.count("\n") == 2


def test_another_folder_of_runs_can_be_named(vgo: Vgo, tmp_path: Path) -> None:
    finished(tmp_path / "elsewhere" / "a")
    assert "elsewhere/a" in vgo("runs", "--out", "elsewhere").stdout
    assert "elsewhere/a" in vgo("runs", env={"VGO_AGENT_OUT": "elsewhere"}).stdout


def test_a_file_in_the_place_of_the_folder_is_refused(vgo: Vgo, tmp_path: Path) -> None:
    (tmp_path / "vgo-runs").write_text("")
    shown = vgo("runs")
    assert (shown.returncode, shown.stderr) == (
        1,
        "vgo-agent: vgo-runs cannot be read (Not a directory); name another folder with --out.\n",
    )
