"""Spin a little longer with every second since the diagnosis began, as a program does whose data grow.

VGO_BEGAN (seconds of the monotonic clock) says when that was; without it nothing drifts.
"""

import math
import os
import sys
import time

BASE_MS, MORE = 8.0, 0.25
DOUBLING_S = 4.0


def lasting_ms(seconds: float) -> float:
    """Time of a run that starts so many seconds after the beginning."""
    return BASE_MS * (1 + MORE * math.log2(1 + max(0.0, seconds) / DOUBLING_S))


def main(arguments: list[str]) -> None:
    """Run once and print the time that passed."""
    now = time.monotonic()
    began = now if arguments[:1] == ["0"] else float(os.environ.get("VGO_BEGAN", now))
    lasting_ns = int(1e6 * lasting_ms(now - began))
    started = time.perf_counter_ns()
    while time.perf_counter_ns() < started + lasting_ns:
        pass
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
