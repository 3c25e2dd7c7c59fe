"""Wait for the end of a run without reaping it; notice a time limit and a program that asks for a terminal."""

from __future__ import annotations

import functools
import math
import mmap
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .tree import PATIENCE_S, living, stat

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


SIZE, PAGE = 40, 4096


MOST_ORPHANS = 100


class _Shared(NamedTuple):
    file: int
    memory: mmap.mmap


class Noted(NamedTuple):
    """A run that is going on."""

    pid: int = 0
    """The process that leads it; 0: none is going on."""
    until_ns: int = 0
    """When it should have been ended, on the monotonic clock; 0: it has no limit."""


def output_name(agent: int, start: int) -> str:
    """Name the files in memory that the runs of an agent print into, so that whoever has one open is known by it."""
    return f"output of a run of vgo-agent {agent}-{start}"


def note(pid: int, until_ns: int = 0) -> None:
    """Note the process that leads the run, 0 where none is going on; takes about a microsecond."""
    _shared().memory[:SIZE] = b"%-16d%-24d" % (pid, until_ns)


def note_orphans(pids: Iterable[int]) -> None:
    """Note which processes of the run have become our children: when this process is killed they are nobody's."""
    words = [b"%d %s" % (pid, fields[19].encode()) for pid in pids if (fields := stat(pid))]
    _shared().memory[SIZE:] = b" ".join(words[:MOST_ORPHANS]).ljust(PAGE - SIZE)


def noted_orphans(file: int) -> list[int]:
    """Read those of another process that still live: a number that was given anew has another start."""
    words = os.pread(file, PAGE, SIZE).rstrip(b"\0").decode().split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return [int(pid) for pid, start in pairs if stat(int(pid))[19:20] == [start]]


def noted(file: int) -> Noted:
    """Read the note of another process from its file."""
    words = os.pread(file, SIZE, 0).rstrip(b"\0").split()
    return Noted(*map(int, words)) if len(words) == len(Noted._fields) else Noted()


def shared_file() -> int:
    """Give the file in memory that a watchdog reads."""
    return _shared().file


@functools.cache
def _shared() -> _Shared:
    file = os.memfd_create("the run that is going on")
    os.ftruncate(file, PAGE)
    return _Shared(file, mmap.mmap(file, PAGE))
