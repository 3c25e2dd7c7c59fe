"""Read 64 KB at a time around the page cache, a random number of times, in a group that may read 60 times a second.

The group is made around the whole diagnosis (`reads_limited`): the disk is idle, and the block layer holds the
requests back. On tmpfs there is no device whose requests could be held back.
Arguments: FILE [READS]; the second fixes the number of reads.
"""

import mmap
import os

from work import amount, compute, drawn, open_input, print_time

MOST_READS = 8
BLOCK_BYTES = 64 * 1024


def compute_and_read(file: int, reads: int) -> None:
    """Compute, and read so often from random places."""
    blocks = os.fstat(file).st_size // BLOCK_BYTES
    buffer = mmap.mmap(-1, BLOCK_BYTES)  # begins at a page, as O_DIRECT wants
    compute(1)
    for _ in range(reads):
        os.preadv(file, [buffer], drawn(0, blocks - 1) * BLOCK_BYTES)


if __name__ == "__main__":
    file, reads = open_input(os.O_RDONLY | os.O_DIRECT), amount(0, MOST_READS, argument=2)
    print_time(lambda: compute_and_read(file, reads))
