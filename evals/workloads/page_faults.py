"""Touch every page of 4 MB blocks fresh from malloc, a random 16 to 128 MB in all: each 4 KB costs a page fault.

With huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or THP always) 2 MB cost one fault.
An argument fixes the megabytes.
"""

import ctypes
import os
import sys
import time

MEGABYTE = 1 << 20
LEAST, MOST = 16, 128
BLOCK_BYTES = 4 * MEGABYTE
HEADER_BYTES = 4096  # room for malloc's header, so that the mapping is a whole number of huge pages
PAGE_BYTES = 4096
M_MMAP_THRESHOLD = -3


def draw_megabytes() -> int:
    """Draw evenly from the least to the most."""
    return LEAST + int.from_bytes(os.urandom(4), "little") % (MOST - LEAST + 1)


def allocator() -> ctypes.CDLL:
    """Load the C library, told to map every large block afresh and to return it when freed."""
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
    libc.mallopt(M_MMAP_THRESHOLD, 128 * 1024)  # the default, but no longer growing with what is freed
    return libc


def touch(libc: ctypes.CDLL, blocks: int) -> None:
    """Write one byte in each page of that many blocks, one block at a time."""
    size = BLOCK_BYTES - HEADER_BYTES
    ones = b"\1" * -(-size // PAGE_BYTES)
    for _ in range(blocks):
        address = libc.malloc(size)
        memoryview((ctypes.c_char * size).from_address(address)).cast("B")[::PAGE_BYTES] = ones
        libc.free(address)


def main(arguments: list[str]) -> None:
    """Run once and print the time of the touching."""
    megabytes = int(arguments[0]) if arguments else draw_megabytes()
    libc = allocator()
    started = time.process_time_ns()
    touch(libc, megabytes * MEGABYTE // BLOCK_BYTES)
    print(f"time_ms {(time.process_time_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
