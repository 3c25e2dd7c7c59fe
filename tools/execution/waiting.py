"""Wait for the end of a run without reaping it; notice a time limit and a program that asks for a terminal."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import NamedTuple

from .survivors import kill

STOP_CHECK_MS = 500
"""With a time limit the wait is a poll, which does not see a stopped program: look this often."""


class Ending(NamedTuple):
    """How the wait for a run ended."""

    timed_out: bool = False
    stopped_for_terminal: bool = False


def wait(pid: int) -> Ending:
    """Wait until the program has ended, and leave the zombie for the probes."""
    stopped = False
    while True:
        seen = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        if seen is None or seen.si_code != os.CLD_STOPPED:
            return Ending(stopped_for_terminal=stopped)
        stopped = end_if_stopped_for_terminal(pid) or stopped


def wait_until(pid: int, deadline_s: float) -> Ending:
    """Wait as `wait` does, but end the whole process group at the deadline (monotonic clock)."""
    timed_out = stopped = False
    pidfd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        while True:
            left_ms = (deadline_s - time.monotonic()) * 1e3
            if poll.poll(max(0.0, min(left_ms, STOP_CHECK_MS))):
                return Ending(timed_out, stopped)
            if left_ms <= 0:
                kill(pid, group=True)
                timed_out, deadline_s = True, float("inf")
            elif not timed_out:
                stopped = end_if_stopped_for_terminal(pid) or stopped
    finally:
        os.close(pidfd)


def end_if_stopped_for_terminal(pid: int) -> bool:
    """End a program that stopped because it wants a terminal; one stopped for another reason may be continued."""
    try:
        # Without WNOWAIT, so that each stop is reported once.
        seen = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG)
    except ChildProcessError:  # it ended just now: a zombie has no stops to tell
        return False
    if seen is None or seen.si_status not in (signal.SIGTTIN, signal.SIGTTOU):
        return False
    kill(pid, group=True)
    return True
