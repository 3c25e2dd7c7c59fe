"""Compute on one CPU while, in 40 % of the runs, a neighbour that it started computes on the same one.

The neighbour is forked in every run, sleeps in the others, is an ordinary process (SCHED_OTHER) and never
outlives the run. Under SCHED_FIFO the program keeps the CPU. An argument, `loud` or `quiet`, fixes the neighbour.
"""

import os
import sys
import time

MODULUS = (1 << 1279) - 1
POWERS = 5
LOUD_SHARE = 0.4
KILL = 9  # signal.SIGKILL; importing signal costs milliseconds
NEIGHBOUR_SECONDS = 5.0


def be_neighbour(loud: bool, parent: int, ready: int) -> None:
    """Say that the neighbour is there, then compute or sleep until it is killed or left alone."""
    if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # a real neighbour would not share the privilege
    end = time.monotonic() + NEIGHBOUR_SECONDS
    pow(3, MODULUS - 2, MODULUS)  # page faults of the first call come before the clock of the parent, loud or not
    time.sleep(0)
    os.write(ready, b".")
    while os.getppid() == parent and time.monotonic() < end:
        if loud:
            pow(3, MODULUS - 2, MODULUS)
        else:
            time.sleep(0.1)
    os._exit(0)


def start_neighbour(loud: bool) -> int:
    """Fork the neighbour, wait until it runs, and return its id."""
    parent = os.getpid()
    there, ready = os.pipe()
    neighbour = os.fork()
    if neighbour == 0:
        try:
            be_neighbour(loud, parent, ready)
        finally:
            os._exit(1)  # an error must not lead it into the code of the parent
    os.close(ready)
    if not os.read(there, 1):
        sys.exit("contention: the neighbour could not start")
    return neighbour


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic."""
    loud = arguments[0] == "loud" if arguments else os.urandom(1)[0] < 256 * LOUD_SHARE
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    neighbour = start_neighbour(loud)
    try:
        started = time.perf_counter_ns()
        for base in range(3, 3 + POWERS):
            pow(base, MODULUS - 2, MODULUS)
        taken = time.perf_counter_ns() - started
    finally:
        os.kill(neighbour, KILL)
        os.waitpid(neighbour, 0)
    print(f"time_ms {taken / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
