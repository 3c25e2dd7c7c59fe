"""Programs beside a neighbour that they fork onto their own CPU: loud in some runs, asleep in the others.

It is forked in every run, is an ordinary process (SCHED_OTHER) and never outlives the run. Under SCHED_FIFO the program
keeps the CPU. The first argument names the program; those behind it fix what is otherwise drawn.
"""

from __future__ import annotations

import os
import sys
import time

from work import (
    amount,
    chance,
    churn,
    compute,
    drawn,
    drop_from_page_cache,
    open_input,
    print_ms,
    print_time,
    read_all,
    run,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KILL = 9  # signal.SIGKILL; importing signal costs milliseconds
NEIGHBOUR_SECONDS = 5.0
CHURNS = 50
PERIOD_S, BURST_S = 0.1, 0.025


def contention() -> None:
    """Compute while, in 40 % of the runs, the neighbour computes too. Argument: loud or quiet."""
    print_ms(time_beside(loud(0.4), lambda: compute(5)))


def periodic_neighbour() -> None:
    """Compute for some 20 ms while a neighbour on the same CPU computes for 25 of every 100 ms, in every run.

    Whether a run meets it depends on when it begins. Arguments: loud or quiet.
    """
    quiet = sys.argv[1:] == ["quiet"]

    def burst() -> None:
        end = time.process_time() + BURST_S
        while time.process_time() < end:
            pow(3, 1 << 300, (1 << 521) - 1)
        time.sleep(PERIOD_S - BURST_S)

    def wait_and_compute() -> int:
        time.sleep(drawn(0, int(1e6 * PERIOD_S)) / 1e6)
        started = time.perf_counter_ns()
        compute(5)
        return time.perf_counter_ns() - started

    print_ms(beside(not quiet, wait_and_compute, burst))


def quota_sidecar() -> None:
    """Compute for some 8 ms in a group with a quota of CPU time, which a sidecar of 40 % of the runs uses up.

    The group is made around the whole diagnosis (`cpu_limited`): 20 ms of CPU in every 100. Argument: loud or quiet.
    """
    neighbour = start_neighbour(loud(0.4), disturb)
    try:
        print_time(lambda: compute(2))
    finally:
        os.kill(neighbour, KILL)
        gone(neighbour)


def fork_storm() -> None:
    """Compute while, in half of the runs, the neighbour only starts processes that end at once; loud or quiet.

    What it uses is not added to the usage of the program.
    """
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children, so their usage is nobody's
    print_ms(time_beside(loud(0.5), lambda: compute(5), start_process))


def faults_and_contention() -> None:
    """Two causes: malloc gives memory back a random number of times, and half of the runs have a neighbour.

    malloc told to keep its memory removes the one part, SCHED_FIFO the other, and only both together leave nothing.
    Arguments: the rounds that give memory back; loud or quiet.
    """
    batches = amount(0, CHURNS)

    def compute_and_churn() -> None:
        compute(3)
        churn(batches, CHURNS)

    print_ms(time_beside(loud(0.5, argument=2), compute_and_churn))


def cold_and_contended() -> None:
    """Two causes: half of the runs drop the file from the page cache, and half have a busy neighbour.

    The run after a drop finds its 20 MB cold and waits for the disk. A file read beforehand removes the one part,
    SCHED_FIFO the other, and only both together leave nothing. Arguments: FILE; evict or keep; loud or quiet.
    """
    file, evict = open_input(), sys.argv[2] == "evict" if sys.argv[2:] else chance(0.5)

    def read_and_compute() -> None:
        read_all(file)
        compute(1)

    print_ms(time_beside(loud(0.5, argument=3), read_and_compute))
    if evict:
        drop_from_page_cache(file)


def loud(share: float, argument: int = 1) -> bool:
    """Tell whether the argument at that place says so, else draw it in this share of the runs."""
    return sys.argv[argument] == "loud" if sys.argv[argument:] else chance(share)


def disturb() -> None:
    """Compute for a moment, as an ordinary neighbour does."""
    compute(1)


def start_process() -> None:
    """Start a process that ends at once."""
    if (child := os.fork()) == 0:
        os._exit(0)
    gone(child)


def gone(child: int) -> None:
    """Return when it is gone; where SIGCHLD is ignored, the wait ends so that there is no child."""
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        return


def time_beside(loud: bool, work: Callable[[], object], disturb: Callable[[], object] = disturb) -> int:
    """Do the work on the last allowed CPU, with the neighbour there, and return the nanoseconds that passed."""

    def timed() -> int:
        started = time.perf_counter_ns()
        work()
        return time.perf_counter_ns() - started

    return beside(loud, timed, disturb)


def beside(loud: bool, timed: Callable[[], int], disturb: Callable[[], object]) -> int:
    """Do something on the last allowed CPU, with the neighbour there."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    neighbour = start_neighbour(loud, disturb)
    try:
        return timed()
    finally:
        os.kill(neighbour, KILL)
        gone(neighbour)


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


if __name__ == "__main__":
    run(contention, periodic_neighbour, quota_sidecar, fork_storm, faults_and_contention, cold_and_contended)
