"""Two causes in one run: malloc gives memory back, and the program hops over its CPUs, each a random number of times.

Both cost CPU time. malloc told to keep its memory removes the one part, a pinned program has nowhere to hop, and
only both together leave nothing. Two arguments fix the rounds that give memory back and the hops.
"""

import os
import sys
import time

CHURNS, COPIES = 25, 100
BLOCK_BYTES = 256 * 1024
BLOCKS = 6
WARM_BYTES = 1_400_000


def draw(most: int) -> int:
    """Draw evenly from none to the most."""
    return int.from_bytes(os.urandom(4), "little") % (most + 1)


def churn(batches: int) -> None:
    """Fill the same bytes in every round; `batches` of the rounds hold all blocks at once."""
    for turn in range(CHURNS):
        if (turn + 1) * batches // CHURNS > turn * batches // CHURNS:
            [bytearray(BLOCK_BYTES) for _ in range(BLOCKS)]
        else:
            for _ in range(BLOCKS):
                bytearray(BLOCK_BYTES)


def copy_and_hop(hops: int) -> None:
    """Do the same copies whatever `hops` is; hop before `hops` of them, evenly spread."""
    cpus = sorted(os.sched_getaffinity(0))
    warm = memoryview(bytearray(WARM_BYTES))
    half = WARM_BYTES // 2
    done = 0
    for turn in range(COPIES):
        if len(cpus) > 1 and (turn + 1) * hops // COPIES > done:
            done += 1
            os.sched_setaffinity(0, {cpus[done % len(cpus)]})
        warm[:half] = warm[half:]
        warm[half:] = warm[:half]


def main(arguments: list[str]) -> None:
    """Run once and print the time of both parts."""
    batches, hops = map(int, arguments) if arguments else (draw(CHURNS), draw(COPIES))
    started = time.process_time_ns()
    churn(batches)  # first: a freed large buffer would teach malloc to keep more
    copy_and_hop(hops)
    print(f"time_ms {(time.process_time_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
