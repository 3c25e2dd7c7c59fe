"""Spin for a time that each run draws anew: nothing outside the program, and no counter, says why a run is slow.

Arguments: [MILLISECONDS], which fixes what is otherwise drawn.
"""

import os
import sys
import time

LEAST_MS, MOST_MS = 8.0, 16.0


def draw_ms() -> float:
    """Draw the time of one run."""
    return LEAST_MS + (MOST_MS - LEAST_MS) * int.from_bytes(os.urandom(4), "little") / 2**32


def main(arguments: list[str]) -> None:
    """Run once and print the time that passed."""
    lasting_ns = int(1e6 * (float(arguments[0]) if arguments else draw_ms()))
    started = time.perf_counter_ns()
    while time.perf_counter_ns() < started + lasting_ns:
        pass
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
