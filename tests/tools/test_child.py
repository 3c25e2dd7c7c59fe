"""A child answers, refuses in words, and whatever ends it is told once; the next question starts another."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools import child
from vgo_agent.tools.child import Child, Ended, Refused

SERVED = """
import os, threading
from vgo_agent.tools.child import serve

def refuse(why):
    raise LookupError(why)

def hang(told=""):
    if told:
        open(told, "w").close()
    threading.Event().wait()

def crash():
    print("a library's noise")
    raise RuntimeError("out of cheese")

methods = {"echo": lambda value: value, "pid": os.getpid, "hang": hang, "refuse": refuse, "crash": crash,
           "noise": lambda: print("not an answer")}
serve(methods, (LookupError,), IDLE)
"""


SELECTED = 1024
"""Files that select(2) takes."""


def made(idle: str = "None") -> Child:
    return Child([sys.executable, "-c", SERVED.replace("IDLE", idle)])


@pytest.fixture(scope="module")
def one() -> Iterator[Child]:
    with made() as one:
        yield one


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None)
@given(value=JSON)
def test_what_is_sent_comes_back(one: Child, value: Any) -> None:
    assert one.ask("echo", {"value": value}) == value


def test_a_long_message_comes_whole(one: Child) -> None:
    assert one.ask("echo", {"value": "é" * 3_000_000}) == "é" * 3_000_000


def test_a_refusal_is_told_and_the_child_goes_on(one: Child) -> None:
    before = one.ask("pid", {})
    with pytest.raises(Refused, match="no such thing"):
        one.ask("refuse", {"why": "no such thing"})
    assert one.ask("pid", {}) == before == one.pid


def test_what_is_printed_is_no_answer(one: Child) -> None:
    assert one.ask("noise", {}) is None
    assert one.ask("echo", {"value": 1}) == 1


def test_a_traceback_is_told_by_its_last_line_and_another_child_answers() -> None:
    with made() as one:
        before = one.ask("pid", {})
        with pytest.raises(Ended, match="^its process ended with 1: RuntimeError: out of cheese$"):
            one.ask("crash", {})
        assert one.pid == 0 and one.ask("pid", {}) != before


def test_a_late_answer_ends_it() -> None:
    with made() as one:
        ended = one.ask("pid", {})
        with pytest.raises(Ended, match="within 0.2 s"):
            one.ask("hang", {}, 0.2)
        with pytest.raises(ProcessLookupError):
            os.kill(ended, 0)


def test_a_stopped_child_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "LOOK_S", 0.01)
    monkeypatch.setattr(child, "STOPPED_S", 0.05)
    with made() as one:
        os.kill(one.ask("pid", {}), signal.SIGSTOP)
        with pytest.raises(Ended, match="stopped"):
            one.ask("echo", {"value": 1})


def test_another_thread_cancels(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    os.mkfifo(asked)

    def cancel(asking: Child) -> None:
        asked.read_bytes()  # waits until the child has the question
        asking.close()

    with made() as one, ThreadPoolExecutor(1) as other:
        cancelled = other.submit(cancel, one)
        with pytest.raises(Ended, match="SIGKILL"):
            one.ask("hang", {"told": str(asked)})
        cancelled.result()


def test_it_is_heard_beyond_the_files_that_select_takes(one: Child) -> None:
    one.close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, hard), hard))
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        while opened.enter_context(Path(os.devnull).open()).fileno() < SELECTED:
            pass
        opened.callback(one.close)
        assert one.ask("echo", {"value": 1}) == 1


def test_one_that_was_idle_is_replaced_without_a_word() -> None:
    with made("0.01") as one:
        first = one.ask("pid", {})
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert one.ask("pid", {}) != first


def test_it_ends_with_who_asks() -> None:
    with made() as one:
        pid = one.ask("pid", {})
        assert one._running is not None and one._running.process.stdin is not None
        one._running.process.stdin.close()
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None and ended.si_status == 0
