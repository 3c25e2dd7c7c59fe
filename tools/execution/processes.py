"""Wait for the end of a run without reaping it, notice its limit, and end processes with all that descends from them.

What stands still starts no more processes: a tree is stopped, then killed, so that a program that forks in a loop
cannot outrun us. Of the standard library only, and from below nothing: the watchdog uses it too.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import select
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

PATIENCE_S = 1.0
"""In which one more has died, where any can; what is left waits in the kernel, or belongs to another user."""
MOST_S = 10.0
"""For thousands of processes."""
PAUSE_S = 0.001
STILL, DEAD = ("T", "t", "D"), ("Z", "X", "x")
"""Letters of /proc/PID/stat: stopped, traced, in the kernel without a break; a zombie, dead."""
CHILDREN = "/proc/thread-self/children"
"""Missing in a kernel built without CONFIG_PROC_CHILDREN."""
LOOK_MS = 100
"""The wait is a poll, which sees neither a stopped program nor how much it has printed: look this often."""
SIZE, PAGE = 40, 4096
MOST_ORPHANS = 100


class TreeTermination(NamedTuple):
    """What became of a tree."""

    number: int = 0
    """Processes that were alive."""
    left: tuple[int, ...] = ()
    """Those that would not die."""


def end_tree(
    roots: Callable[[], Iterable[int]],
    patience_s: float = PATIENCE_S,
    spares: Callable[[int], bool] = lambda pid: False,
) -> TreeTermination:
    """End the processes that `roots` gives, asked anew in each round, and all below them, but for who is spared.

    Gives up when in `patience_s` none more has died. Who shows only later that it is to be spared goes on: it may have
    been stopped while it became another program.
    """
    begun = progress = time.monotonic()
    met, alive, number = set[int](), dict[int, str](), signal.SIGSTOP
    fewest = math.inf

    def spared(pid: int) -> bool:
        spare = spares(pid)
        if spare and pid in met:
            met.discard(pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)
        return spare

    with ahead_of_all():
        while alive := living({*roots(), *alive}, number, spared):
            now, new = time.monotonic(), alive.keys() - met
            met |= new
            if len(alive) < fewest:
                fewest, progress = len(alive), now
            if now - progress > patience_s or now - begun > MOST_S:
                return TreeTermination(len(met), tuple(sorted(alive)))
            if now - begun > patience_s / 4 or not new and all(state in STILL for state in alive.values()):
                number = signal.SIGKILL
            if not new:
                time.sleep(PAUSE_S)
    return TreeTermination(len(met))


@contextmanager
def ahead_of_all() -> Iterator[None]:
    """Let this thread run before every other program, where it is root's; what it starts does not inherit that."""
    before, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        if os.geteuid() == 0:
            with suppress(OSError):  # no CAP_SYS_NICE, or a control group without real-time
                highest = os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO))
                os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, highest)
        yield
    finally:
        if os.sched_getscheduler(0) != before:
            os.sched_setscheduler(0, before, priority)


def living(roots: Iterable[int], number: int = 0, spares: Callable[[int], bool] = lambda pid: False) -> dict[int, str]:
    """Return, by process, the state of those that live among the roots and all below them; send each a signal.

    Who is spared is left out, and so are all below.
    """
    children, states = kin(), dict[int, str]()
    waiting, met = list(roots), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid not in met and not spares(pid):
            met.add(pid)
            # First, so that what is read next is as good as final. Who may not get it shows by staying alive.
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
            waiting += children(pid)
            if state := state_of(pid):
                states[pid] = state
    return states


def state_of(pid: int) -> str:
    """Return the letter of a process that lives; empty for others."""
    fields = stat(pid)
    # A main thread that has ended is a zombie, too, while other threads go on.
    return fields[0] if fields and (fields[0] not in DEAD or int(fields[17]) > 1) else ""


def stat(pid: int) -> list[str]:
    """Read the fields of /proc/PID/stat after the name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def kin() -> Callable[[int], list[int]]:
    """Give what names the children of a process, as they are now."""
    if os.path.exists(CHILDREN):
        return children_of
    by_parent = defaultdict[int, list[int]](list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        if fields := stat(int(name)):
            by_parent[int(fields[1])].append(int(name))
    return lambda pid: by_parent.get(pid, [])


def children_of(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


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
