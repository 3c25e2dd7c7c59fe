"""Copy a warm buffer in fixed rounds, and hop to another allowed CPU before a random number of them.

After a hop the buffer lies modified in the caches of the CPU left behind, so the next copy is slow.
Pinned to one CPU the program has nowhere to hop. An argument fixes the number of hops.
"""

import os
import sys
import time

ROUNDS = 150
WARM_BYTES = 1_400_000


def draw_hops() -> int:
    """Draw few hops in one half of the runs and many in the other."""
    calm, amount = os.urandom(2)
    return amount % 8 if calm < 128 else 40 + amount % 100


def copy_and_hop(hops: int) -> None:
    """Do the same copies whatever `hops` is; hop before `hops` of them, evenly spread."""
    cpus = sorted(os.sched_getaffinity(0))
    warm = memoryview(bytearray(WARM_BYTES))
    half = WARM_BYTES // 2
    done = 0
    for turn in range(ROUNDS):
        if len(cpus) > 1 and (turn + 1) * hops // ROUNDS > done:
            done += 1
            os.sched_setaffinity(0, {cpus[done % len(cpus)]})
        warm[:half] = warm[half:]
        warm[half:] = warm[:half]


def main(arguments: list[str]) -> None:
    """Run once and print the time of the copies."""
    hops = int(arguments[0]) if arguments else draw_hops()
    started = time.process_time_ns()
    copy_and_hop(hops)
    print(f"time_ms {(time.process_time_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
