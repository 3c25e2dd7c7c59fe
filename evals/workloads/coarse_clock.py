"""Spin 20 ms and a random little more, and tell the time in steps of 10 ms, as a coarse clock does.

Arguments: [MILLISECONDS], which fixes how much more.
"""

import os
import sys
import time

BASE_NS, MORE_NS = 20_000_000, 3_000_000
STEP_MS = 10


def main(arguments: list[str]) -> None:
    """Run once and print the time that passed, rounded."""
    more_ns = int(1e6 * float(arguments[0])) if arguments else int.from_bytes(os.urandom(4), "little") % MORE_NS
    lasting_ns = BASE_NS + more_ns
    started = time.perf_counter_ns()
    while time.perf_counter_ns() < started + lasting_ns:
        pass
    passed_ms = (time.perf_counter_ns() - started) / 1e6
    print(f"time_ms {STEP_MS * round(passed_ms / STEP_MS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
