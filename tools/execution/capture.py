"""Files that a run writes into and that can be emptied and used again, of which a bounded part is kept."""

from __future__ import annotations

import ctypes
import fcntl
import os
import tempfile
from contextlib import ExitStack, suppress
from typing import NamedTuple

from .system_calls import checked, libc

KEPT = 16 << 20
"""Bytes of the beginning of what a program prints that are kept, and as many of its end: a metric is its last match."""
ERROR_TAIL = 4096
"""Bytes of standard error that are kept."""
SLACK = 1 << 20
"""So much more may lie in memory before it is given back."""
KEEP_SIZE, PUNCH_HOLE = 1, 2
"""Of fallocate(2)."""


class Taken(NamedTuple):
    """What a file held."""

    content: bytes
    left_out: int = 0
    """Bytes in the middle that were not kept."""


def appended_memory(name: str, undo: ExitStack) -> int:
    """Open a file in memory to which every writer appends, so that it can be emptied and used again."""
    file = os.memfd_create(name)
    undo.callback(os.close, file)
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
    return file


def appended_on_disk(undo: ExitStack) -> int:
    """Do the same in the place for temporary files; the file has no name."""
    with tempfile.TemporaryFile() as opened:
        file = os.dup(opened.fileno())
    undo.callback(os.close, file)
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
    return file


def thin(file: int, first: int = KEPT, last: int = KEPT) -> None:
    """Give back what lies between the first and the last bytes, while the program goes on writing at the end."""
    more = os.fstat(file).st_size - first - last
    if more > SLACK:
        # A file system that cannot do it keeps the file as it is: it is none in memory.
        with suppress(OSError):
            where = ctypes.c_long(first), ctypes.c_long(more)
            checked(libc().fallocate(file, PUNCH_HOLE | KEEP_SIZE, *where))


def take(file: int, first: int = KEPT, last: int = KEPT) -> Taken:
    """Return the content of a file, or whole lines of its first and last bytes, and empty it."""
    size = os.fstat(file).st_size
    if size == 0:
        return Taken(b"")
    try:
        if size <= first + last:
            return Taken(read(file, 0, size))
        head, tail = read(file, 0, first), read(file, size - last, size)
    finally:
        os.ftruncate(file, 0)
    head = head[: head.rfind(b"\n") + 1]
    tail = tail[tail.find(b"\n") + 1 :] if first else tail
    return Taken(head + tail, size - len(head) - len(tail))


def read(file: int, begin: int, end: int) -> bytes:
    """Read a part of a file; a read gives at most 2 GB."""
    parts = []
    while begin < end and (part := os.pread(file, end - begin, begin)):
        parts.append(part)
        begin += len(part)
    return b"".join(parts)
