"""Compute in steps, and between them sleep 1 microsecond a random number of times.

Each sleep ends late by the timer slack of the process, 50 microseconds unless it is set, and by the wake-up.
A process under a real-time policy has no slack. An argument fixes the number of sleeps.
"""

import os
import sys
import time

STEPS = 200
SLEEP_S = 1e-6
MODULUS = (1 << 127) - 1


def draw_sleeps() -> int:
    """Draw evenly from none to one a step."""
    return int.from_bytes(os.urandom(4), "little") % (STEPS + 1)


def compute_and_sleep(sleeps: int) -> None:
    """Compute the same whatever `sleeps` is, and sleep that often, evenly spread."""
    done = 0
    for step in range(STEPS):
        pow(3, MODULUS - 2, MODULUS)
        if (step + 1) * sleeps // STEPS > done:
            done += 1
            time.sleep(SLEEP_S)


def main(arguments: list[str]) -> None:
    """Run once and print the time of it all."""
    sleeps = int(arguments[0]) if arguments else draw_sleeps()
    started = time.perf_counter_ns()
    compute_and_sleep(sleeps)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
