"""Allocate, fill and free 256 KB blocks; in a random number of rounds six at a time instead of one by one.

glibc keeps one freed block at the top of its heap, but gives the memory of six back to the kernel and
faults it in again in the next round. The bytes filled are the same in every run, so with higher
thresholds (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_) the rounds cost the same.
An argument fixes the number of rounds that allocate six at a time.
"""

import os
import sys
import time

ROUNDS = 100
BLOCK_BYTES = 256 * 1024
BLOCKS = 6


def draw_batches() -> int:
    """Draw evenly from none to all of the rounds."""
    return int.from_bytes(os.urandom(4), "little") % (ROUNDS + 1)


def churn(batches: int) -> None:
    """Fill the same bytes in every round; `batches` of the rounds hold all blocks at once."""
    done = 0
    for turn in range(ROUNDS):
        if (turn + 1) * batches // ROUNDS > done:
            done += 1
            [bytearray(BLOCK_BYTES) for _ in range(BLOCKS)]
        else:
            for _ in range(BLOCKS):
                bytearray(BLOCK_BYTES)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the churn."""
    batches = int(arguments[0]) if arguments else draw_batches()
    started = time.process_time_ns()
    churn(batches)
    print(f"time_ms {(time.process_time_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
