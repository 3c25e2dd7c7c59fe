"""Blocks of the C library's malloc, the large ones mapped afresh each time."""

from __future__ import annotations

import ctypes

PAGE_BYTES = 4096
M_MMAP_THRESHOLD = -3


def allocator() -> ctypes.CDLL:
    """Load the C library, told to map every large block afresh and to return it when freed."""
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
    libc.mallopt(M_MMAP_THRESHOLD, 128 * 1024)  # the default, but no longer growing with what is freed
    return libc


def touch(libc: ctypes.CDLL, sizes: list[int], touched: int) -> None:
    """Write one byte in each page of the first `touched` bytes of each block, one block at a time."""
    ones = b"\1" * -(-touched // PAGE_BYTES)
    for size in sizes:
        address = libc.malloc(size)
        memoryview((ctypes.c_char * touched).from_address(address)).cast("B")[::PAGE_BYTES] = ones
        libc.free(address)
