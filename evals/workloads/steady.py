"""Compute a little, then wait on the clock: 20 ms in every run, unless something keeps it off its CPU."""

import sys
import time

MODULUS = (1 << 1279) - 1
FRAME_NS = 20_000_000


def main(arguments: list[str]) -> None:
    """Run once, as a program does that has a frame to fill, and print the time it took."""
    started = time.perf_counter_ns()
    pow(3, MODULUS - 2, MODULUS)
    while time.perf_counter_ns() < started + FRAME_NS:
        pass
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
