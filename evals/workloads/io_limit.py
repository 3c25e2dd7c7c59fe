"""Read 64 KB at a time around the page cache, a random number of times, in a group that may read 60 times a second.

The group is made around the whole diagnosis (`reads_limited`): the disk is idle, and the block layer holds the
requests back. On tmpfs there is no device whose requests could be held back.
Arguments: FILE [READS]; the second fixes the number of reads.
"""

import mmap
import os
import sys
import time

MODULUS = (1 << 1279) - 1
MOST_READS = 8
BLOCK_BYTES = 64 * 1024


def draw_reads() -> int:
    """Draw evenly from none to the most."""
    return int.from_bytes(os.urandom(4), "little") % (MOST_READS + 1)


def main(arguments: list[str]) -> None:
    """Run once and print the time of computing and reading."""
    if not arguments:
        sys.exit("io_limit: give the file to read, such as one of 20 MB on a disk")
    reads = int(arguments[1]) if arguments[1:] else draw_reads()
    file = os.open(arguments[0], os.O_RDONLY | os.O_DIRECT)
    blocks = os.fstat(file).st_size // BLOCK_BYTES
    buffer = mmap.mmap(-1, BLOCK_BYTES)  # begins at a page, as O_DIRECT wants
    started = time.perf_counter_ns()
    pow(3, MODULUS - 2, MODULUS)
    for _ in range(reads):
        place = int.from_bytes(os.urandom(4), "little") % blocks
        os.preadv(file, [buffer], place * BLOCK_BYTES)
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")
    os.close(file)


if __name__ == "__main__":
    main(sys.argv[1:])
