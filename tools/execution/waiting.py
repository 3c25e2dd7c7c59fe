"""Wait for the end of a run without reaping it; notice a time limit and a program that asks for a terminal."""

from __future__ import annotations

import math
import os
import select
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from .tree import PATIENCE_S, living

LOOK_MS = 100
"""The wait is a poll, which sees neither a stopped program nor how much it has printed: look this often."""


class WaitResult(NamedTuple):
    """How the wait for a run ended."""

    timed_out: bool = False
    stopped_for_terminal: bool = False
    stopped: bool = False
    """Past its limit, it or a process of its stood still (SIGSTOP)."""


def wait(
    pid: int, until_s: float | None, end: Callable[[], object], look: Callable[[], None] = lambda: None
) -> WaitResult:
    """Wait until the program has ended, and leave the zombie for the probes.

    `end` is what ends it with its whole tree, at `until_s` (monotonic clock) or when it wants a terminal. `look` is
    called now and then.
    """
    limit_s = math.inf if until_s is None else until_s
    pidfd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        while not poll.poll(max(0.0, min((limit_s - time.monotonic()) * 1e3, LOOK_MS))):
            look()
            late = time.monotonic() >= limit_s
            if late or wants_terminal(pid):
                stopped = late and "T" in living([pid]).values()
                end()
                poll.poll(PATIENCE_S * 1e3)
                return WaitResult(late, not late, stopped)
        # Long past the limit the watchdog has ended it, since this process had no turn.
        return WaitResult(timed_out=time.monotonic() > limit_s + PATIENCE_S)
    finally:
        os.close(pidfd)


def wants_terminal(pid: int) -> bool:
    """Tell whether a program has stopped because it wants a terminal; another stop may be continued."""
    try:
        # Without WNOWAIT, so that each stop is reported once.
        seen = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG)
    except ChildProcessError:  # it ended just now: a zombie has no stops to tell
        return False
    return seen is not None and seen.si_status in (signal.SIGTTIN, signal.SIGTTOU)
