"""A diagnosis that a model plans, through the front door: recorded, replayed token for token, never in need of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vgo_agent.agent import replay as replaying
from vgo_agent.agent.graph import FALLBACK
from vgo_agent.agent.record import bodies
from vgo_agent.agent.replay import replay
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import Decision, RunStart, chained, line, read
from vgo_agent.prompts.render import versions

from ...conftest import COMMAND, Vgo
from ...tiny_gguf import tiny

pytestmark = pytest.mark.slow  # test_llama_cpp_server.py has a whole diagnosis in the check

FAULTS = """
import os, time
begun = time.process_time_ns()
block = b"x" * ((24 << 20) if os.urandom(1)[0] < 90 else (1 << 20))
print("time_ms", (time.process_time_ns() - begun) / 1e6)
"""
OPTIONS = ("--max-runs", "40", "--budget", "600", "--max-mitigations", "2", "--json", "--metric", "time_ms ([0-9.]+)")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by-model")
    program = folder / "faults.py"
    program.write_text(f"#!{sys.executable} -IS{FAULTS}")
    program.chmod(0o755)
    tiny(folder / "tiny.gguf", context=16384)
    return folder


def words(place: Path) -> list[str]:
    planner = ("--planner", "llama", "--model", str(place / "tiny.gguf"))
    return [str(COMMAND), "diagnose", *planner, *OPTIONS, str(place / "faults.py")]


@pytest.fixture(scope="module")
def run(place: Path) -> Path:
    done = subprocess.run(words(place), cwd=place, capture_output=True, text=True, timeout=280)
    assert done.returncode in (0, 1), done.stderr
    return Path(json.loads(done.stdout)["run_dir"])


def test_the_transcript_says_which_model_was_asked_and_what_it_wrote(run: Path) -> None:
    events = read(run / "transcript.jsonl")
    model = bodies(events, RunStart)[0].model
    assert model is not None and model.name == "tiny.gguf" and len(model.sha256) == 64
    assert model.library.startswith("llama-cpp-python ") and model.cpu and model.batch == 512
    assert model.prompts["decide.txt.j2"].startswith("1 ")
    said = [decision.said for decision in bodies(events, Decision) if decision.said]
    assert said and all(len(one.prompt) == 64 for one in said)
    taken = [one for one in said if not one.passed_over]
    assert taken and all(json.loads(one.text).keys() == {"tool", "args"} and one.tokens > 0 for one in taken)


def test_the_report_says_who_chose_each_step_and_the_time_of_day_is_nowhere(run: Path) -> None:
    report = (run / "report.md").read_text()
    assert "| chosen by |" in report and "| llama |" in report
    assert "tiny.gguf" in report and str(run.parent) not in (run / "transcript.jsonl").read_text().split('"model":')[1]


def test_the_model_writes_the_same_again(vgo: Vgo, run: Path) -> None:
    done = vgo("verify", "--recompute", "--json", str(run))
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["ok"] and answer["note"] == "the model was asked again", done.stderr
    assert answer["reported"] in (run / "report.md").read_text()


def test_without_the_model_the_record_is_read(run: Path, place: Path) -> None:
    report = replay(RunFolder(run), without_model=True)
    assert report.ok and report.note == "what the model wrote was read from the record"
    kept = (place / "tiny.gguf").rename(place / "away.gguf")
    try:
        report = replay(RunFolder(run))
        assert report.ok and "read from the record: There is no model" in report.note
        assert not report.note.endswith(".")
        tiny(place / "tiny.gguf", seed=2, context=16384)
        report = replay(RunFolder(run))
        assert report.ok and "tiny.gguf is another file now" in report.note
    finally:
        kept.rename(place / "tiny.gguf")


def test_a_replay_names_the_prompts_that_are_others_now(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = versions("model")
    monkeypatch.setattr(replaying, "versions", lambda room: now | {"decide.txt.j2": "2 x", "answer.txt.j2": "2 x"})
    report = replay(RunFolder(run), without_model=True)
    assert report.ok and report.note.endswith("from the record; this version has other prompts: decide.txt.j2")


def test_other_words_of_the_model_are_found_out(run: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    shutil.copytree(run, forged)
    events = read(forged / "transcript.jsonl")
    place = next(event.seq for event in events if isinstance(event.body, Decision) and event.body.said)
    again, previous = [], "0" * 64
    for event in events:
        body = event.body
        if event.seq == place:
            assert isinstance(body, Decision) and body.said
            body = body.model_copy(update={"said": body.said.model_copy(update={"tokens": body.said.tokens + 1})})
        if event.seq == len(events) - 1:
            body = body.model_copy(update={"tip": previous})
        again.append(chained(body, event.seq, previous))
        previous = again[-1].hash
    (forged / "transcript.jsonl").write_bytes(b"".join(map(line, again)))
    report = replay(RunFolder(forged))
    assert not report.ok and f"event {place}: decision.said.tokens was" in report.difference


def model_of(parent: int) -> int | None:
    """Find the process that holds the model of a vgo-agent."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, stat = (folder / "cmdline").read_bytes(), (folder / "stat").read_text()
        except OSError:
            continue
        if b"agent.model.served" in command and int(stat.rpartition(")")[2].split()[1]) == parent:
            return int(folder.name)
    return None


def test_a_model_that_dies_costs_its_decision_and_nothing_else(place: Path, tmp_path: Path) -> None:
    going = subprocess.Popen(words(place), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while going.poll() is None and not any(
        path.stat().st_size for path in tmp_path.glob("vgo-runs/*/transcript.jsonl")
    ):
        time.sleep(0.01)  # until the model is loaded: before, its death ends everything
    process = model_of(going.pid)
    assert process is not None
    os.kill(process, signal.SIGKILL)
    out, err = going.communicate(timeout=240)
    assert going.returncode in (0, 1), err
    decisions = bodies(read(Path(json.loads(out)["run_dir"]) / "transcript.jsonl"), Decision)
    reasons = [one.said.passed_over for one in decisions if one.said and one.origin == FALLBACK.name]
    assert [reason for reason in reasons if "SIGKILL" in reason] and len(reasons) < len(decisions)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "GGUF"), (b"no model at all, but long enough to have a head" * 9, "GGUF"), (b"GGUF\x03\x00\x00\x00", "")],
    ids=["empty", "text", "cut off"],
)
def test_what_is_no_model_is_refused_before_the_first_run(vgo: Vgo, place: Path, content: bytes, why: str) -> None:
    broken = place / "broken.gguf"
    broken.write_bytes(content)
    done = vgo("diagnose", "--planner", "llama", "--model", str(broken), str(place / "faults.py"))
    assert done.returncode == 1 and "broken.gguf" in done.stderr and why in done.stderr
    assert "trial run" not in done.stderr and "Traceback" not in done.stderr
