"""Spin 15 ms, and in the first moments of a diagnosis up to three times as long: a slow start, and steady from then on.

VGO_BEGAN (seconds of the monotonic clock) says when it began; without it no run is slow.
"""

import math
import os
import sys
import time

BASE_MS, MORE = 15.0, 2.0
FADES_S = 0.1


def lasting_ms(seconds: float) -> float:
    """Time of a run that starts so many seconds after the beginning."""
    return BASE_MS * (1 + MORE * math.exp(-max(0.0, seconds) / FADES_S))


def main(arguments: list[str]) -> None:
    """Run once and print the time that passed."""
    now = time.monotonic()
    began = -math.inf if arguments[:1] == ["0"] else float(os.environ.get("VGO_BEGAN", -math.inf))
    lasting_ns = int(1e6 * lasting_ms(now - began))
    started = time.perf_counter_ns()
    while time.perf_counter_ns() < started + lasting_ns:
        pass
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
