"""Allocate, use and free 600 blocks of 64 KB to 4 MB; how large most of them are is drawn anew in each run.

Only the first 64 KB of a block are used, so the work is the same. A small block stays in malloc's heap; a large one
is mapped afresh and given back when it is freed, so that each faults in again. malloc told to keep its memory maps
nothing; huge pages make it worse, since 2 MB are cleared where 64 KB are used.
An argument fixes the share of large blocks in percent.
"""

import ctypes
import os
import sys
import time

BLOCKS = 600
SMALL, LEAST, MOST = 64 << 10, 256 << 10, 4 << 20
PAGE_BYTES = 4096
M_MMAP_THRESHOLD = -3
ONES = b"\1" * (SMALL // PAGE_BYTES)


def draw_share() -> int:
    """Draw evenly from 0 to 100 percent."""
    return int.from_bytes(os.urandom(4), "little") % 101


def sizes(share: int) -> list[int]:
    """Return the bytes of each block, `share` percent of them large ones of all sizes."""
    large = BLOCKS * share // 100
    spread = os.urandom(BLOCKS)
    steps = [(turn + 1) * large // BLOCKS > turn * large // BLOCKS for turn in range(BLOCKS)]
    return [LEAST + (MOST - LEAST) * spread[turn] // 255 if steps[turn] else SMALL for turn in range(BLOCKS)]


def allocator() -> ctypes.CDLL:
    """Load the C library, told to map every large block afresh and to return it when freed."""
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
    libc.mallopt(M_MMAP_THRESHOLD, 128 * 1024)  # the default, but no longer growing with what is freed
    return libc


def use(libc: ctypes.CDLL, wanted: list[int]) -> None:
    """Write one byte in each page of the first 64 KB of each block, one block at a time."""
    for size in wanted:
        address = libc.malloc(size)
        memoryview((ctypes.c_char * SMALL).from_address(address)).cast("B")[::PAGE_BYTES] = ONES
        libc.free(address)


def main(arguments: list[str]) -> None:
    """Run once and print the time of all blocks."""
    share = int(arguments[0]) if arguments else draw_share()
    libc, wanted = allocator(), sizes(share)
    started = time.process_time_ns()
    use(libc, wanted)
    print(f"time_ms {(time.process_time_ns() - started) / 1e6:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
