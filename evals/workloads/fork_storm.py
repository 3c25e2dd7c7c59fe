"""Compute on one CPU while, in half of the runs, a neighbour on it does nothing but start processes that end at once.

The neighbour is forked in every run, sleeps in the others, is an ordinary process (SCHED_OTHER) and never outlives the
run; what it uses is not added to the usage of the program. Under SCHED_FIFO the program keeps the CPU.
An argument, `loud` or `quiet`, fixes the neighbour.
"""

import contextlib
import os
import signal
import sys
import time

MODULUS = (1 << 1279) - 1
POWERS = 5
LOUD_SHARE = 0.5
NEIGHBOUR_SECONDS = 5.0


def storm(loud: bool, parent: int) -> None:
    """Start processes, or sleep, until killed or left alone."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # a real neighbour would not share the privilege
    end = time.monotonic() + NEIGHBOUR_SECONDS
    while os.getppid() == parent and time.monotonic() < end:
        if not loud:
            time.sleep(0.1)
        elif (child := os.fork()) == 0:
            os._exit(0)
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def start_neighbour(loud: bool) -> int:
    """Fork the neighbour and return its id."""
    parent = os.getpid()
    neighbour = os.fork()
    if neighbour == 0:
        try:
            storm(loud, parent)
        finally:
            os._exit(0)  # also after an error: it must not come into the code of the parent
    return neighbour


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic."""
    loud = arguments[0] == "loud" if arguments else os.urandom(1)[0] < 256 * LOUD_SHARE
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children, so their usage is nobody's
    neighbour = start_neighbour(loud)
    try:
        started = time.perf_counter_ns()
        for base in range(3, 3 + POWERS):
            pow(base, MODULUS - 2, MODULUS)
        taken = time.perf_counter_ns() - started
    finally:
        os.kill(neighbour, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(neighbour, 0)  # returns when it is gone
    print(f"time_ms {taken / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
