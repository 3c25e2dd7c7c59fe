"""Touch the pages of 8 MB of a mapped file, from a random place on, in a group whose memory does not hold the file.

What does not fit (`memory_limited`) is dropped from the page cache and read back from the disk when it is touched.
At its end each run reads the whole file, so that without the limit all of it is in memory for the next one.
Arguments: FILE [PLACE]; PLACE, a number of megabytes, fixes what is touched, and nothing else is read.
"""

import mmap
import os
import sys

from work import amount, open_input, print_time, read_all

MEGABYTE = 1 << 20
TOUCHED = 8
PAGE_BYTES = 4096


def touch(mapped: mmap.mmap, place: int) -> None:
    """Read a byte of each page, from that megabyte on."""
    for page in range(place * MEGABYTE, (place + TOUCHED) * MEGABYTE, PAGE_BYTES):
        mapped[page]


if __name__ == "__main__":
    file = open_input()
    size = os.fstat(file).st_size
    place = amount(0, size // MEGABYTE - TOUCHED, argument=2)
    mapped = mmap.mmap(file, size, prot=mmap.PROT_READ)
    print_time(lambda: touch(mapped, place))
    if not sys.argv[2:]:
        read_all(file)
