"""A neighbour that a program forks onto its own CPU: loud in some runs, asleep in the others."""

from __future__ import annotations

import os
import sys
import time

from work import chance, compute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KILL = 9  # signal.SIGKILL; importing signal costs milliseconds
NEIGHBOUR_SECONDS = 5.0


def loud(share: float, argument: int = 1) -> bool:
    """Tell whether the argument at that place says so, else draw it in this share of the runs."""
    return sys.argv[argument] == "loud" if sys.argv[argument:] else chance(share)


def disturb() -> None:
    """Compute for a moment, as an ordinary neighbour does."""
    compute(1)


def time_beside(loud: bool, work: Callable[[], object], disturb: Callable[[], object] = disturb) -> int:
    """Do the work on the last allowed CPU, with the neighbour there, and return the nanoseconds that passed."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    neighbour = start_neighbour(loud, disturb)
    try:
        started = time.perf_counter_ns()
        work()
        return time.perf_counter_ns() - started
    finally:
        end(neighbour)


def end(neighbour: int) -> None:
    """Kill the neighbour, and return when it is gone."""
    os.kill(neighbour, KILL)
    try:
        os.waitpid(neighbour, 0)
    except ChildProcessError:
        return  # fork_storm leaves its children to nobody, and the wait ends so when they are gone


def start_neighbour(loud: bool, disturb: Callable[[], object]) -> int:
    """Fork the neighbour, wait until it runs, and return its id."""
    parent = os.getpid()
    there, ready = os.pipe()
    neighbour = os.fork()
    if neighbour == 0:
        try:
            be_neighbour(loud, parent, ready, disturb)
        finally:
            os._exit(0)  # also after an error: it must not come into the code of the parent
    os.close(ready)
    if not os.read(there, 1):
        raise SystemExit("The neighbour could not start.")
    return neighbour


def be_neighbour(loud: bool, parent: int, ready: int, disturb: Callable[[], object] = disturb) -> None:
    """Say that the neighbour is there, then disturb or sleep until it is killed or left alone."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # a real neighbour would not share the privilege
    end = time.monotonic() + NEIGHBOUR_SECONDS
    disturb()  # page faults of the first call come before the clock of the parent, loud or not
    os.write(ready, b".")
    while os.getppid() == parent and time.monotonic() < end:
        if loud:
            disturb()
        else:
            time.sleep(0.1)
