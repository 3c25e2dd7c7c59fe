"""Spin by the clock: for a time drawn anew, longer and longer, long at first, always 20 ms, or told coarsely.

Arguments: KIND [MILLISECONDS]; the second fixes what is otherwise drawn, and 0 takes drift and warm-up away.
VGO_BEGAN (seconds of the monotonic clock) says when the diagnosis began; without it nothing drifts or warms up.
"""

from __future__ import annotations

import math
import os
import sys
import time

from work import compute, drawn

STEP_MS = 10


def noise_ms(fixed: float | None) -> float:
    """Draw a time: nothing outside the program, and no counter, says why a run is slow."""
    return drawn(8_000_000, 16_000_000) / 1e6 if fixed is None else fixed


def drift_ms(fixed: float | None) -> float:
    """A little more with every second since the beginning, as a program takes whose data grow."""
    seconds = since_beginning_s(0.0) if fixed is None else 0.0
    return 8.0 * (1 + 0.25 * math.log2(1 + seconds / 4.0))


def warm_up_ms(fixed: float | None) -> float:
    """15 ms, and up to three times as much in the first moments."""
    seconds = since_beginning_s(math.inf) if fixed is None else math.inf
    return 15.0 * (1 + 2.0 * math.exp(-seconds / 0.1))


def coarse_ms(fixed: float | None) -> float:
    """20 ms and a random little more, which the steps of the clock hide."""
    return 20.0 + (drawn(0, 2_999_999) / 1e6 if fixed is None else fixed)


def steady_ms(fixed: float | None) -> float:
    """The same in every run, unless something keeps it off its CPU."""
    return 20.0


def since_beginning_s(otherwise: float) -> float:
    """Return how long ago the diagnosis began, or `otherwise` where nobody says."""
    began = os.environ.get("VGO_BEGAN")
    return otherwise if began is None else max(0.0, time.monotonic() - float(began))


KINDS = {"noise": noise_ms, "drift": drift_ms, "warm-up": warm_up_ms, "coarse": coarse_ms, "steady": steady_ms}


def main(arguments: list[str]) -> None:
    """Run once and print the time that passed."""
    kind, *fixed = arguments
    lasting_ns = int(1e6 * KINDS[kind](float(fixed[0]) if fixed else None))
    started = time.perf_counter_ns()
    if kind == "steady":
        compute(1)  # as a program does that has a frame to fill, and waits for its end
    while time.perf_counter_ns() < started + lasting_ns:
        pass
    passed_ms = (time.perf_counter_ns() - started) / 1e6
    print(f"time_ms {STEP_MS * round(passed_ms / STEP_MS)}" if kind == "coarse" else f"time_ms {passed_ms:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
