"""End processes with all that descends from them: stop them all, then kill them, until none is alive.

What stands still starts no more processes, so that a program that forks in a loop cannot outrun us.
Of the standard library only, and from below nothing: the watchdog uses it too.
"""

from __future__ import annotations

import math
import os
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
