"""Compute on one CPU while, in half of the runs, a neighbour on it does nothing but start processes that end at once.

The neighbour is forked in every run, sleeps in the others, is an ordinary process (SCHED_OTHER) and never outlives the
run; what it uses is not added to the usage of the program. Under SCHED_FIFO the program keeps the CPU.
An argument, `loud` or `quiet`, fixes the neighbour.
"""

import contextlib
import os
import signal

from forked import loud, time_beside
from work import compute, print_ms


def start_process() -> None:
    """Start a process that ends at once."""
    if (child := os.fork()) == 0:
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children, so their usage is nobody's
    print_ms(time_beside(loud(0.5), lambda: compute(5), start_process))
