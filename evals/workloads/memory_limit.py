"""Touch the pages of 8 MB of a mapped file, from a random place on, in a group whose memory does not hold the file.

What does not fit (`memory_limited`) is dropped from the page cache and read back from the disk when it is touched.
At its end each run reads the whole file, so that without the limit all of it is in memory for the next one.
Arguments: FILE [PLACE]; PLACE, a number of megabytes, fixes what is touched, and nothing else is read.
"""

import mmap
import os
import sys
import time

MEGABYTE = 1 << 20
TOUCHED = 8
PAGE_BYTES = 4096


def draw_place(size: int) -> int:
    """Draw where to begin, in megabytes."""
    return int.from_bytes(os.urandom(4), "little") % (size // MEGABYTE - TOUCHED + 1)


def read_all(file: int) -> None:
    """Read to the end into one buffer."""
    buffer = bytearray(MEGABYTE)
    while os.readv(file, [buffer]):
        pass


def main(arguments: list[str]) -> None:
    """Run once and print the time of the touching."""
    if not arguments:
        sys.exit("memory_limit: give the file to map, larger than the memory limit of the control group")
    file = os.open(arguments[0], os.O_RDONLY)
    size = os.fstat(file).st_size
    place = int(arguments[1]) if arguments[1:] else draw_place(size)
    mapped = mmap.mmap(file, size, prot=mmap.PROT_READ)
    started = time.perf_counter_ns()
    for page in range(place * MEGABYTE, (place + TOUCHED) * MEGABYTE, PAGE_BYTES):
        mapped[page]
    print(f"time_ms {(time.perf_counter_ns() - started) / 1e6:.4f}")
    if not arguments[1:]:
        read_all(file)


if __name__ == "__main__":
    main(sys.argv[1:])
