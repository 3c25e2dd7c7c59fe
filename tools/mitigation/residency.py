"""How much of a file is in the page cache, without reading it."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

from ..execution.system_calls import checked, libc


def resident_share(file: Path) -> float:
    """Ask mincore for the share of pages in memory; 1 for an empty file.

    Since Linux 5.2 the kernel tells the truth only about files that the asker owns or may write.
    """
    size = file.stat().st_size
    if size == 0:
        return 1.0
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), size, mmap.MAP_PRIVATE, _READ_WRITE) as view:
        pages = -(-size // mmap.PAGESIZE)
        states = (ctypes.c_ubyte * pages)()
        # ctypes takes an address only from a writable buffer; the map is private and never written.
        start = (ctypes.c_char * size).from_buffer(view)
        try:
            checked(libc().mincore(ctypes.byref(start), ctypes.c_size_t(size), states))
        finally:
            del start
        return sum(state & 1 for state in states) / pages


_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
