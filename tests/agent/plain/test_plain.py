"""The chat line by line: a script in a pipe, an approval, and what a screen reader hears."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.agent.chat.session import ChatSession, RunControl
from vgo_agent.agent.consent import ENDED
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.desk.markdown import unmarked
from vgo_agent.agent.plain.lines import LinesIn
from vgo_agent.agent.plain.plain import Plain
from vgo_agent.agent.worker.link import WorkerState

from ...conftest import COMMAND, Vgo
from ..answers.run_made import written
from ..report.conftest import MAKERS

QUESTION = {
    "number": 1,
    "mitigation": "m",
    "scope": "system",
    "would": ["write 1 to /x (now 0)"],
    "why": "next",
    "origin": "rules",
}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:surrogateescape"}


def in_another_locale(folder: Path, *words: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), "chat", "--plain", *words],
        input=lines,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        cwd=folder,
        timeout=240,
        env=os.environ | {"XDG_CONFIG_HOME": str(folder / "config")} | ASCII,
    )


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return written(MAKERS["confirmed"](), tmp_path / "vgo-runs" / "made")


def test_a_file_of_lines_is_a_conversation_and_nothing_moves_a_cursor(vgo: Vgo, made: Path) -> None:
    lines = "/open made\nwhy is it slow?\n/copy\n/nope\n/screenshot\n/delete made\n/quit\nnot read\n"
    done = vgo("chat", "--plain", lines=lines)
    assert done.returncode == 0, done.stderr
    said = [line[2:] for line in done.stdout.splitlines() if line.startswith("> ")]
    assert said == lines.splitlines()[:-1]
    assert "\x1b" not in done.stdout and "\r" not in done.stdout
    assert (
        "Verdict: cause explained, remedy confirmed." in done.stdout
        and "The command line that won: taskset" in done.stdout
    )
    assert "Error: There is no /nope" in done.stdout and "no screen to take a picture of" in done.stdout
    assert "say: /delete made yes" in done.stdout and made.exists()
    assert "](source:" not in done.stdout and "**" not in done.stdout


@pytest.mark.slow
def test_another_locale_and_lines_that_are_no_text_are_answered(made: Path, tmp_path: Path) -> None:
    done = in_another_locale(tmp_path, str(made), lines="wh\udcffy is it slow?\n")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert done.stdout.isascii() or done.stdout


@pytest.mark.slow
def test_a_whole_step_by_talking_in_a_pipe(vgo: Vgo, script) -> None:
    program = script("bench", "import os\nfor _ in range(os.urandom(1)[0] * 20): pass\n")
    lines = "/measure\n/profile\n/help try\n/stop\n"
    limits = ("--max-runs", "60", "--budget", "900")
    done = vgo("chat", "--plain", "--step", *limits, str(program), lines=lines)
    assert "Step 1, Measure: you asked for it." in done.stdout, done.stdout + done.stderr
    assert re.search(r"Step 1 done: \d+ runs", done.stdout) and "Step 2 done: " in done.stdout, done.stdout
    measured, profiled = done.stdout.index("Step 1 done"), done.stdout.index("> /profile")
    assert measured < profiled  # each line waits for the one before
    assert "The run was interrupted" in done.stdout and "Traceback" not in done.stderr


def test_a_program_that_cannot_run_is_told_in_a_sentence(vgo: Vgo) -> None:
    done = vgo("chat", "--plain", "/bin/false", lines="")
    assert done.returncode == 1
    assert "Error: A trial run failed: " in done.stdout and "Traceback" not in done.stdout + done.stderr


class Asking(ChatSession):
    """A run that waits for an answer, and whose worker is none."""

    given: tuple[str, str] | None = None

    @property
    def state(self) -> WorkerState:
        return WorkerState(question=None if self.given else QUESTION, in_charge=True)

    @property
    def place(self) -> RunControl:
        return "still" if self.given else "ours"

    def answer(self, answer: str, reason: str = "") -> None:
        self.given = answer, reason


@pytest.mark.parametrize(
    ("lines", "given", "said"),
    [
        ("what does it change?\n\nno-system\n", ("no-system", ""), "  write 1 to /x (now 0)"),
        ("/status\n2\n", ("process", ""), "- Waiting: m (scope system) needs your answer; /answer shows the question."),
        ("/answer\nyes\n", ("once", ""), "m changes more than the program (scope system):"),
        ("no because it is shared\n", ("no", "it is shared"), "Your answer: Not this."),
        ("why?\n", ("no", ENDED), "Why now: The planner (rules) chose it: next."),
    ],
)
def test_while_something_is_asked_lines_are_answers_or_questions(
    lines: str, given: tuple[str, str], said: str, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.write(writing, lines.encode())
    os.close(writing)
    session, heard = Asking(Desk(), out=tmp_path), list[str]()
    Plain(session, LinesIn(reading), heard.append, patient=True).converse()
    os.close(reading)
    assert session.given == given and said in heard
    assert "  3. Not this, and no system change at all in this diagnosis  (no-system)" in heard


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
