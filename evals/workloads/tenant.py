"""Compute 20 ms beside a tenant that takes every allowed CPU in turns of milliseconds, comes for seconds, and goes.

The tenant runs around the whole diagnosis (`tenant.py neighbour CPUS`) under SCHED_FIFO, above what a mitigation asks
for: it is plain to see, and nothing that can be done to the program makes it go.
"""

import os
import sys
import time

MODULUS = (1 << 1279) - 1
POWERS = 5
PRIORITY = 80
TURN_S, REST_S = 0.004, 0.012
STAY_S, AWAY_S = 1.5, 2.5


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic, or be the tenant."""
    if arguments[:1] == ["neighbour"]:
        be_tenant({int(cpu) for cpu in arguments[1].split(",")}, os.getppid())
        return
    started = time.perf_counter_ns()
    for base in range(3, 3 + POWERS):
        pow(base, MODULUS - 2, MODULUS)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


def be_tenant(cpus: set[int], parent: int) -> None:
    """Be one process a CPU, until whoever started it is gone."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    first, *rest = sorted(cpus)
    for cpu in rest:
        if os.fork() == 0:
            take(cpu, parent)
            return
    print("ready", flush=True)
    take(first, parent)


def take(cpu: int, parent: int) -> None:
    """Compute on one CPU in short turns while it stays."""
    os.sched_setaffinity(0, {cpu})
    while alive(parent):
        leaves = time.monotonic() + STAY_S
        while time.monotonic() < leaves:
            end = time.monotonic() + TURN_S
            while time.monotonic() < end:
                pow(3, MODULUS - 2, MODULUS)
            time.sleep(REST_S)
        time.sleep(AWAY_S)


def alive(process: int) -> bool:
    """Tell whether a process is there."""
    return os.path.exists(f"/proc/{process}")


if __name__ == "__main__":
    main(sys.argv[1:])
