"""What is told while a diagnosis goes on."""

import io
import os
import pty
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vgo_agent.agent.live_view import DRAW_EVERY_S, LiveView
from vgo_agent.agent.progress import Figures, Lines, figures
from vgo_agent.agent.terminal import amount, bins, printable, table
from vgo_agent.agent.transcript import Decision, ToolEnd
from vgo_agent.tools.execution.row_log import RunEnded

QUESTION = {
    "mitigation": "FIFO",
    "scope": "system",
    "would": ["write 1 to /proc/sys/x (now 0)"],
    "hurts": "others starve",
}
outcomes = st.lists(st.floats(min_value=1e-6, max_value=1e3), min_size=1, max_size=60)


def decision(**more: Any) -> Decision:
    plain = {"call_id": "c1", "tool": "measure", "arguments": {}, "why": "the baseline comes first"}
    return Decision.model_validate({**plain, "origin": "rules", "legal": ("measure",), **more})


def progress(conditions: str = "aab", planned: int = 0, ok: int = 1) -> RunEnded:
    rows = [{"condition": name, "ok": ok, "outcome": 0.01 + i / 1000} for i, name in enumerate(conditions)]
    return RunEnded(rows, planned)


@given(outcomes)
def test_median_and_cv_are_those_of_statistics(values: list[float]) -> None:
    figure = Figures("a", values, 0)
    assert figure.median == pytest.approx(statistics.median(values))
    if len(values) > 1:
        assert figure.cv == pytest.approx(statistics.stdev(values) / statistics.fmean(values), abs=1e-9)
    else:
        assert figure.cv is None


@given(outcomes, st.integers(1, 60))
def test_every_run_stands_once_in_the_histogram_and_the_ends_are_its_ends(values: list[float], count: int) -> None:
    counts = bins(values, min(values), max(values), count)
    assert (len(counts), sum(counts)) == (count, len(values))
    assert counts[0] >= 1
    if max(values) > min(values):
        assert counts[-1] >= 1


def test_figures_split_runs_by_condition_and_leave_failed_ones_out() -> None:
    rows = [
        {"condition": "a", "ok": 1, "outcome": 1.0},
        {"condition": "b", "ok": 1, "outcome": 2.0},
        {"condition": "a", "ok": 0, "outcome": None},
    ]
    assert figures(RunEnded(rows, 0)) == [Figures("a", [1.0], 1), Figures("b", [2.0], 0)]


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.0123, "s", "12.3 ms"),
        (2.5, "s", "2.5 s"),
        (0.0, "s", "0 s"),
        (3e-7, "s", "300 ns"),
        (12.0, "MB/s", "12 MB/s"),
        (12.0, "", "12"),
    ],
)
def test_an_outcome_is_written_with_its_unit(value: float, unit: str, words: str) -> None:
    assert amount(value, unit) == words


@given(st.text())
def test_what_is_printable_steers_no_terminal_and_keeps_its_length(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


def test_a_table_is_as_wide_as_its_cells() -> None:
    assert table(("A", "B"), [("long", "x"), ("", "y")]) == "A     B\nlong  x\n      y"


def test_a_step_is_told_when_it_is_chosen_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines("s")
    lines.loading("./bench.sh \x1b[31m", "vgo-runs/a")
    lines.decided(decision(tool="apply_mitigation", arguments={"mitigation": "pin_to_cpu", "batch": 2}))
    lines.ended(decision(), ToolEnd(call_id="c1", result={"summary": "60 runs: steadier"}))
    lines.ended(decision(), ToolEnd(call_id="c1", error="it is not legal now"))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "./bench.sh  [31m: kept in vgo-runs/a",
        "apply_mitigation pin_to_cpu, batch 2: the baseline comes first",
        "  60 runs: steadier",
        "  it is not legal now",
    ]


def test_quick_runs_are_not_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines("s")
    started = time.monotonic()
    for _ in range(1000):
        lines.progressed(progress())
    told = capsys.readouterr().err.count("run 3")
    assert told <= (time.monotonic() - started) / 5


def test_who_asked_for_quiet_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines("s", quiet=True)
    lines.loading("./bench.sh", "vgo-runs/a")
    lines.decided(decision())
    lines.ended(decision(), ToolEnd(call_id="c1", error="no"))
    assert capsys.readouterr() == ("", "")


def test_where_nobody_can_be_asked_the_system_stays_as_it_is() -> None:
    ran = subprocess.run([sys.executable, "-c", ASKING], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("False policy\n", "")


@pytest.mark.parametrize(
    ("typed", "answered"),
    [("1\n", "True user"), ("\n\nis it safe?\nYES\n", "True user"), ("no\n", "False user"), ("\x04", "False policy")],
)
@pytest.mark.cells(2)
def test_at_a_terminal_the_user_is_asked_with_what_is_written_and_the_risk(typed: str, answered: str) -> None:
    outer, inner = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", ASKING], stdin=inner, stderr=inner, stdout=subprocess.PIPE) as child:
        os.close(inner)
        seen = b""
        while b"a question about it: " not in seen:
            seen += os.read(outer, 4096)
        os.write(outer, typed.encode())
        assert child.stdout is not None
        said = child.stdout.read().decode()
    os.close(outer)
    assert said == f"{answered}\n"
    for word in (b"FIFO", b"scope system", b"write 1 to /proc/sys/x (now 0)", b"risk: others starve"):
        assert word in seen


ASKING = f"""
from vgo_agent.agent.progress import Lines
answer = Lines("s").approve({QUESTION!r})
print(answer["granted"], answer["by"])
"""


class Screen:
    """A live view drawn into memory."""

    def __init__(self, width: int, fancy: bool) -> None:
        self.width = width
        self.file = io.StringIO()
        console = Console(file=self.file, force_terminal=True, width=width, height=10, color_system=None)
        self.view = LiveView("s", fancy, console=console)

    @property
    def lines(self) -> list[str]:
        """Everything that was ever drawn, line by line."""
        return re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", self.file.getvalue().replace("\r", "\n")).split("\n")

    def progressed(self, progress: RunEnded) -> None:
        time.sleep(DRAW_EVERY_S)
        self.view.progressed(progress)


@pytest.fixture(params=[(20, False), (40, True), (80, True), (200, False)], ids=str)
def screen(request: pytest.FixtureRequest) -> Iterator[Screen]:
    width, fancy = request.param
    screen = Screen(width, fancy)
    yield screen
    screen.view.close()


def test_the_live_view_fits_the_terminal_and_shows_both_conditions(screen: Screen) -> None:
    screen.view.loading("./b", "runs/a")
    screen.view.decided(decision(why="a long reason " * 20))
    screen.progressed(progress("aab" * 9, planned=240))
    assert all(len(line) <= screen.width for line in screen.lines)
    assert {f"  {name}: {runs} runs"[: screen.width] for name, runs in (("a", 18), ("b", 9))} <= {
        line.partition(",")[0] for line in screen.lines
    }
    assert any("run 27 of 240" in line for line in screen.lines)


def test_without_unicode_the_live_view_draws_in_ascii() -> None:
    screen = Screen(20, fancy=False)
    screen.view.loading("./b", "runs/a")
    screen.progressed(progress("aaab"))
    screen.view.ended(decision(), ToolEnd(call_id="c1", result={"summary": "done"}))
    screen.view.close()
    assert "ok measure: done" in screen.lines
    assert screen.file.getvalue().isascii()


def test_the_live_view_starts_no_thread_and_draws_a_few_times_a_second(screen: Screen) -> None:
    before = threading.active_count()
    started = time.monotonic()
    screen.view.loading("./b", "runs/a")
    drawn = screen.file.getvalue().count("loading, with")
    for _ in range(2000):
        screen.view.progressed(progress())
    most = 1 + (time.monotonic() - started) / DRAW_EVERY_S
    assert threading.active_count() == before
    assert screen.file.getvalue().count("loading, with") - drawn <= most


def test_runs_that_all_failed_are_drawn_too(screen: Screen) -> None:
    screen.view.loading("./b", "runs/a")
    screen.progressed(progress("aaa", ok=0))
    assert any("run 3" in line for line in screen.lines)
