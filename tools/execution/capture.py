"""Files that a run writes into and that can be emptied and used again."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import ExitStack


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


def take(file: int, last: int | None = None) -> bytes:
    """Return the content of a file in memory, or its last bytes, and empty it."""
    size = os.lseek(file, 0, os.SEEK_END)
    if size == 0:
        return b""
    position = 0 if last is None else max(0, size - last)
    parts = []
    while part := os.pread(file, size - position, position):
        parts.append(part)
        position += len(part)
    os.ftruncate(file, 0)
    return b"".join(parts)
