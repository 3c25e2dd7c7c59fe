"""Ending a tree, and who is spared."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from vgo_agent.tools.execution.processes import end_tree, state_of


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child.pid
        child.kill()


def test_whoever_shows_only_later_that_it_is_spared_goes_on(sleeper: int) -> None:
    """As a watchdog does that was met while it was still the program that started it."""
    looks = iter([False])
    ended = end_tree(lambda: [sleeper], spares=lambda pid: next(looks, True))
    assert (ended.number, ended.left) == (0, ()) and state_of(sleeper) in ("R", "S")


def test_what_is_not_spared_ends(sleeper: int) -> None:
    assert end_tree(lambda: [sleeper]).left == ()
    assert os.waitstatus_to_exitcode(os.waitpid(sleeper, 0)[1]) == -signal.SIGKILL
