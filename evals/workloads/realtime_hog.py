"""Compute 20 ms on the last allowed CPU, which a real-time neighbour takes for itself now and then.

The neighbour runs around the whole diagnosis (`realtime_hog.py neighbour CPU`), in bursts of random length, under
SCHED_FIFO: no ordinary process runs beside it. On another CPU the program is not disturbed.
"""

import os
import sys
import time

MODULUS = (1 << 1279) - 1
POWERS = 5
PRIORITY = 50
BURST_MS, PAUSE_MS = (5, 30), (20, 120)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the arithmetic, or be the neighbour."""
    if arguments[:1] == ["neighbour"]:
        be_neighbour(int(arguments[1]), os.getppid())
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    started = time.perf_counter_ns()
    for base in range(3, 3 + POWERS):
        pow(base, MODULUS - 2, MODULUS)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


def be_neighbour(cpu: int, parent: int) -> None:
    """Compute in bursts at random moments, until whoever started it is gone."""
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    print("ready", flush=True)
    while os.getppid() == parent:
        end = time.monotonic() + drawn_s(BURST_MS)
        while time.monotonic() < end:
            pow(3, MODULUS - 2, MODULUS)
        time.sleep(drawn_s(PAUSE_MS))


def drawn_s(milliseconds: tuple[int, int]) -> float:
    """Draw a time between two, in seconds."""
    least, most = milliseconds
    return (least + int.from_bytes(os.urandom(4), "little") % (most - least + 1)) / 1e3


if __name__ == "__main__":
    main(sys.argv[1:])
