"""The app in a real terminal: keys go in, the screen is read back, and the run outlives the terminal and the app."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ...conftest import COMMAND
from .terminal import PATIENCE_S, TMUX, Terminal

pytestmark = pytest.mark.skipif(not TMUX, reason="no tmux here")
WORK = "import os\nfor _ in range(os.urandom(1)[0] * 40): pass\n"
LIMITS = ("--max-runs", "30", "--budget", "900", "--allow", "none")
NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
Script = Callable[[str, str], Path]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Open terminals, and close them; what still runs in the background is stopped."""
    terminals: list[Terminal] = []

    def one(*words: str, **more: object) -> Terminal:
        terminals.append(Terminal.running(tmp_path, str(COMMAND), "chat", *words, **more))  # type: ignore[arg-type]
        return terminals[-1]

    yield one
    for terminal in terminals:
        terminal.close()
    for folder in (tmp_path / "vgo-runs").glob("*"):
        plainly(tmp_path, str(folder), lines="/stop\n")


def plainly(folder: Path, *words: str, lines: str) -> str:
    """Say lines to a run without a screen."""
    command = [str(COMMAND), "chat", "--plain", *words]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=folder, timeout=240)
    assert "Traceback" not in done.stderr
    return done.stdout


def run_in(folder: Path) -> Path:
    (run,) = (folder / "vgo-runs").iterdir()
    return run


def events(run: Path) -> int:
    path = run / "transcript.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def until_events(run: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while events(run) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_run_outlives_the_app_and_the_terminal_and_is_there_again(opened, tmp_path: Path, script: Script) -> None:
    first = opened("--step", *LIMITS, str(script("bench", WORK)))
    first.wait_for("/ for commands", "Leave")
    first.type("/measure")
    first.wait_for("Measure", "30 runs")
    run = run_in(tmp_path)
    os.kill(first.pid, signal.SIGKILL)  # the app alone; its worker waits
    second = opened(str(run))
    second.wait_for("Measure", "30 runs")
    second.type("/profile")
    second.wait_for("Profile: next.")
    second.close()  # the connection is lost in the middle of it
    until_events(run, 7)  # start, and decision, start, end of two steps
    said = plainly(tmp_path, str(run), lines="/label\n/stop\n")
    assert "2 steps have ended" in said and "Label slow and fast" in said and "interrupted" in said
    third = opened(str(run))
    third.wait_for("interrupted")
    third.type("/resume")
    third.wait_for("goes on where it was cut off")
    third.keys("C-q")
    third.wait_for("It goes on: vgo-agent chat")


def test_a_small_terminal_says_so_and_is_drawn_when_it_grows(opened, tmp_path: Path) -> None:
    small = opened("--step", "/bin/true", size=(20, 5))
    small.wait_for("Too small")
    small.do("resize-window", "-x", "90", "-y", "24")
    small.wait_for("Leave")
    small.do("resize-window", "-x", "20", "-y", "5")
    small.wait_for("Too small")
    assert "Traceback" not in small.text()


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"TERM": "dumb"}, "cannot redraw"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "not UTF-8"),
    ],
)
def test_a_terminal_that_cannot_be_drawn_on_is_told_what_can_be_done(opened, env: dict[str, str], words: str) -> None:
    shown = "".join(opened(lasts=True, **env).wait_for("vgo-agent: ").splitlines())  # the terminal wraps where it ends
    assert words in shown and "--plain" in shown


def test_without_colour_nothing_is_coloured(opened) -> None:
    plain = opened("--step", "/bin/true", NO_COLOR="1")
    plain.wait_for("Leave")
    colours = {code for found in re.findall(r"\x1b\[([0-9;]*)m", plain.text("-e")) for code in found.split(";")[:1]}
    assert not colours & {str(number) for number in (*range(31, 37), *range(41, 47))}
    for red, green, blue in re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", plain.text("-e")):
        assert red == green == blue
