"""Compute in steps, and between them sleep 1 microsecond a random number of times.

Each sleep ends late by the timer slack of the process, 50 microseconds unless it is set, and by the wake-up.
A process under a real-time policy has no slack. An argument fixes the number of sleeps.
"""

import time

from work import amount, due, print_time

STEPS = 200
SLEEP_S = 1e-6
MODULUS = (1 << 127) - 1


def compute_and_sleep(sleeps: int) -> None:
    """Compute the same whatever `sleeps` is, and sleep that often, evenly spread."""
    for step in range(STEPS):
        pow(3, MODULUS - 2, MODULUS)
        if due(step, sleeps, STEPS):
            time.sleep(SLEEP_S)


if __name__ == "__main__":
    sleeps = amount(0, STEPS)
    print_time(lambda: compute_and_sleep(sleeps))
