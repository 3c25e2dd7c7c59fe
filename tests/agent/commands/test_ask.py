"""`vgo-agent ask` through the front door: one question, a conversation in a pipe, programs, and bad input."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ...conftest import COMMAND
from ..answers.run_made import written
from ..answers.test_answers import SCEPTICAL
from ..report.conftest import MAKERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(MAKERS["confirmed"](), tmp_path_factory.mktemp("runs") / "made")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def ask(folder: Path, cache: str, tmp_path: Path):
    def run(*words: str, lines: bytes = b"", status: int = 0, of: Path = folder) -> str:
        env = os.environ | {"XDG_CACHE_HOME": cache, "XDG_CONFIG_HOME": str(tmp_path / "config")}
        command = [str(COMMAND), "ask", str(of), *words]
        done = subprocess.run(command, input=lines, capture_output=True, cwd=tmp_path, env=env, timeout=240)
        assert b"Traceback" not in done.stderr
        assert done.returncode == status, done.stderr.decode()
        return (done.stdout or done.stderr).decode()

    return run


def test_a_question_is_answered_with_what_it_rests_on_and_nothing_in_the_folder_changes(ask, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    text = ask("did", "pin_to_cpu", "help?")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert text.startswith("- pin_to_cpu (Pin to one CPU) made the runs steadier")
    assert "Rests on:\n  f" in text and "(events " in text
    assert "  vgo-agent mitigations pin_to_cpu --keep all  # " in text
    assert text.rstrip().endswith("Formulated by templates.")


@pytest.mark.slow
def test_programs_get_one_object_a_line_of_a_conversation_that_remembers(ask) -> None:
    lines = b"what did you try?\ndid pin_to_cpu help?\nand own_autogroup?\n"
    said, _, leaning = map(json.loads, ask("--json", lines=lines).splitlines())
    assert leaning["names"] == ["mitigation:own_autogroup"]
    assert (said["known"], said["by"], said["intent"]) == (True, "templates", "tried")
    tags = {one["tag"] for one in said["references"]}
    assert {tag for one in said["sentences"] for tag in one["references"]} == tags
    assert said["answer"] == " ".join(one["text"] for one in said["sentences"])


@pytest.mark.slow
def test_ten_questions_in_a_pipe_get_ten_answers(ask) -> None:
    lines = "\n".join(SCEPTICAL).encode() + b"\n\nthis is not read\n"
    text = ask(lines=lines)
    assert [line[2:] for line in text.splitlines() if line.startswith("> ")] == list(SCEPTICAL)
    assert text.count("Formulated by templates.") == len(SCEPTICAL) and "I do not know" not in text


@pytest.mark.slow
def test_what_is_not_known_ends_with_1_and_says_what_can_be_asked(ask) -> None:
    assert ask("who won the world cup", status=1).startswith("I do not know")


@pytest.mark.slow
def test_no_question_is_refused_with_an_example(ask) -> None:
    assert "There is no question" in ask(lines=b"   \nwhy is this slow?\n", status=1)


def test_an_empty_question_is_refused(ask) -> None:
    assert "There is no question" in ask("", status=1)


@pytest.mark.slow
def test_lines_that_are_no_text_are_answered_in_words(ask) -> None:
    lines = (bytes(range(1, 10)) + bytes(range(11, 256)), b"\xff\xfe\x1b[2J", b"x" * 10_000)
    said = ask(lines=b"\n".join(lines), status=1)
    assert "\x1b" not in said and said.count("I do not know") == len(lines)


@pytest.mark.slow
def test_a_run_without_a_verdict_is_refused_with_the_cure(ask, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "cut"
    (other / "artefacts").mkdir(parents=True)
    (other / "request.json").write_text("{}")
    lines = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    for kept, told in ((1, "resume"), (0, "resume")):
        (other / "transcript.jsonl").write_bytes(b"".join(lines[:kept]))
        for artefact in (folder / "artefacts").iterdir():
            (other / "artefacts" / artefact.name).write_bytes(artefact.read_bytes())
        assert told in ask("why?", status=1, of=other)


def test_a_folder_that_is_no_run_is_refused(ask, tmp_path: Path) -> None:
    assert "vgo-agent runs" in ask("why?", status=1, of=tmp_path)
