"""The chat line by line: a script in a pipe, an approval, and what a screen reader hears."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.plain.answering import answered
from vgo_agent.agent.plain.lines import LinesIn
from vgo_agent.agent.plain.unmarked import unmarked
from vgo_agent.tools.plan import NO_MORE

from ...conftest import COMMAND
from ..answers.run_made import written
from ..report.conftest import MAKERS

WRITES = {"mitigation": "m", "scope": "system", "would": ["write 1 to /x"]}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:surrogateescape"}
BY_HAND = {"mitigation": "m", "scope": "code", "steps": ["do it"]}


def talk(folder: Path, *words: str, lines: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), "chat", "--plain", *words],
        input=lines,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        cwd=folder,
        timeout=240,
        env=os.environ | {"XDG_CONFIG_HOME": str(folder / "config")} | env,
    )


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return written(MAKERS["mitigated"](), tmp_path / "vgo-runs" / "made")


def test_a_file_of_lines_is_a_conversation_and_nothing_moves_a_cursor(made: Path, tmp_path: Path) -> None:
    lines = "/open made\nwhy is it slow?\n/copy\n/nope\n/screenshot\n/delete made\n/quit\nnot read\n"
    done = talk(tmp_path, lines=lines)
    assert done.returncode == 0, done.stderr
    said = [line[2:] for line in done.stdout.splitlines() if line.startswith("> ")]
    assert said == lines.splitlines()[:-1]
    assert "\x1b" not in done.stdout and "\r" not in done.stdout
    assert "Verdict: mitigated." in done.stdout and "The command line that won: taskset" in done.stdout
    assert "Error: There is no /nope" in done.stdout and "no screen to take a picture of" in done.stdout
    assert "say: /delete made yes" in done.stdout and made.exists()
    assert "](source:" not in done.stdout and "**" not in done.stdout


def test_another_locale_and_lines_that_are_no_text_are_answered(made: Path, tmp_path: Path) -> None:
    done = talk(
        tmp_path,
        str(made),
        lines="wh\udcffy is it slow?\n",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONIOENCODING="ascii:surrogateescape",
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert done.stdout.isascii() or done.stdout


def test_a_whole_step_by_talking_in_a_pipe(tmp_path: Path, script) -> None:
    program = script("bench", "import os\nfor _ in range(os.urandom(1)[0] * 20): pass\n")
    lines = "/measure\n/profile\n/help try\n/stop\n"
    done = talk(tmp_path, "--step", "--max-runs", "30", "--budget", "900", str(program), lines=lines)
    assert "Step 1, Measure: you asked for it." in done.stdout, done.stdout + done.stderr
    assert re.search(r"Step 1 done: \d+ runs", done.stdout) and "Step 2 done: " in done.stdout, done.stdout
    measured, profiled = done.stdout.index("Step 1 done"), done.stdout.index("> /profile")
    assert measured < profiled  # each line waits for the one before
    assert "The run was interrupted" in done.stdout and "Traceback" not in done.stderr


def test_a_program_that_cannot_run_is_told_in_a_sentence(tmp_path: Path) -> None:
    done = talk(tmp_path, "/bin/false")
    assert done.returncode == 1
    assert "Error: A trial run failed: " in done.stdout and "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "granted", "standing", "reason"),
    [
        ("yes", True, False, "approved once"),
        ("Yes, for this run.", True, True, "approved for this run"),
        ("/approve run", True, True, "approved for this run"),
        ("no", False, False, "denied"),
        ("No, because others use this machine", False, False, "others use this machine"),
        ("/deny it is shared", False, False, "it is shared"),
        ("never", False, True, "never in this run"),
    ],
)
def test_an_answer_is_read_as_it_is_meant(line: str, granted: bool, standing: bool, reason: str) -> None:
    assert answered(line, WRITES) == {"granted": granted, "standing": standing, "reason": reason}


def test_what_is_no_answer_is_left_for_the_conversation_and_by_hand_takes_done() -> None:
    assert answered("what is the risk?", WRITES) is None and answered("done", WRITES) is None
    assert answered("done", BY_HAND) == {"granted": True, "standing": False, "reason": "done by hand"}
    assert answered("skip", BY_HAND) == {"granted": False, "standing": False, "reason": "skipped"}
    assert answered("never", BY_HAND) == {"granted": False, "standing": False, "reason": NO_MORE}


def test_marks_are_left_out_and_words_are_not() -> None:
    table = "| say | it will |\n|---|---|\n| `/go` | *go* on |"
    text = f"## Head\n\n{table}\n\n- **a_b_c** fell [\\[k1\\]](source:k1)\n```text\nx * y\n```"
    assert unmarked(text) == ["Head", "", "say: it will", "/go: go on", "", "- a_b_c fell [k1]", "x * y"]


@given(st.text(st.characters(categories=["L", "N", "Zs"]), max_size=80))
def test_words_without_marks_stay_as_they_are(text: str) -> None:
    assert "".join(unmarked(text)).split() == text.split()


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30), max_size=8), st.integers(1, 9))
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[str], piece: int) -> None:
    reading, writing = os.pipe()
    taken, data = LinesIn(reading), "".join(f"{line}\n" for line in lines).encode()
    for start in range(0, len(data), piece):
        os.write(writing, data[start : start + piece])
        taken.wait(0)
    os.close(writing)
    taken.wait(0)
    taken.wait(0)
    assert taken.ended
    found = []
    while taken.first:
        found.append(taken.take())
    os.close(reading)
    assert found == lines
