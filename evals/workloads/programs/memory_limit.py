"""Touch the pages of 8 MB of a mapped file, from a random place on, in a group whose memory does not hold the file.

What does not fit (`memory_limited`) is dropped from the page cache and read back from the disk when it is touched.
At its end each run reads the whole file, so that without the limit all of it is in memory for the next one.
Arguments: FILE [PLACE]; PLACE, a number of megabytes, fixes what is touched, and nothing else is read.
"""

import mmap
import os
import sys

from work import drawn, open_input, print_time, read_all

MEGABYTE = 1 << 20
TOUCHED = 8
PAGE_BYTES = 4096


def touch(mapped: mmap.mmap, place: int) -> None:
    """Read a byte of each page, from that megabyte on."""
    for page in range(place * MEGABYTE, (place + TOUCHED) * MEGABYTE, PAGE_BYTES):
        mapped[page]


def main(arguments: list[str]) -> None:
    """Run once and print the time of the touching."""
    file = open_input(arguments)
    size = os.fstat(file).st_size
    place = int(arguments[1]) if arguments[1:] else drawn(0, size // MEGABYTE - TOUCHED)
    mapped = mmap.mmap(file, size, prot=mmap.PROT_READ)
    print_time(lambda: touch(mapped, place))
    if not arguments[1:]:
        read_all(file)


if __name__ == "__main__":
    main(sys.argv[1:])
