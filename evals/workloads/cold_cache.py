"""Read a 20 MB file, and in 30 % of the runs drop it from the page cache at the end.

The run after that finds the file cold and waits for the disk.
Arguments: FILE [evict|keep]; the second fixes the choice.
"""

import os
import sys
import time

CHUNK_BYTES = 1 << 20
EVICTING_SHARE = 0.3


def read_all(file: int) -> int:
    """Read to the end into one buffer and return the number of bytes."""
    buffer = bytearray(CHUNK_BYTES)
    total = 0
    while got := os.readv(file, [buffer]):
        total += got
    return total


def main(arguments: list[str]) -> None:
    """Run once and print the time of the reading; what is evicted hits the next run."""
    if not arguments:
        sys.exit("cold_cache: give the file to read, such as one of 20 MB on a disk")
    path, *choice = arguments
    evict = choice[0] == "evict" if choice else os.urandom(1)[0] < 256 * EVICTING_SHARE
    file = os.open(path, os.O_RDONLY)
    started = time.perf_counter_ns()
    read_all(file)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")
    if evict:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


if __name__ == "__main__":
    main(sys.argv[1:])
