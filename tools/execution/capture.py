"""What a run prints: files that are emptied and used again, of which a bounded part is kept, and lines as digests."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import NamedTuple

from .launch import Run
from .system_calls import checked, libc

KEPT = 16 << 20
"""Bytes of the beginning of what a program prints that are kept, and as many of its end: a metric is its last match."""
ERROR_TAIL = 4096
"""Bytes of standard error that are kept."""
SLACK = 1 << 20
"""So much more may lie in memory before it is given back."""
KEEP_SIZE, PUNCH_HOLE = 1, 2
"""Of fallocate(2)."""
SAID = "said"
"""Key of a row, and no column of its table: what the run printed."""
READ = 32 << 10
"""Bytes of the beginning of standard output that are read, and as many of its end."""
MOST_LINES, LONGEST = 256, 120
"""Different lines that are kept of a run, those with the least digests, so that of many runs the same; characters."""
_NUMBER = re.compile(r"\d")
_UNIT = re.compile(r"([num\u00b5]?s|secs?|seconds?|min|minutes?|[kKMG]?i?B|bytes)[.,;:)\]]*")
"""Left out behind a number, since it changes with it."""
_REPEATED = re.compile(r"([^\w\s])\1+")
"""A bar or a row of dots: how long it is says how far something was."""
LinesOfRun = Mapping[str, str]
"""Digest of a line to the line, which is empty where it was told before."""


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


class PrintedLines:
    """Reads what runs printed; tells each line once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def of(self, run: Run) -> LinesOfRun:
        """Give the lines of standard output, as far as it was captured, and of standard error."""
        lines = {hashlib.blake2b(line.encode(), digest_size=8).hexdigest(): line for line in _lines(run)}
        kept = {digest: "" if digest in self._told else lines[digest] for digest in sorted(lines)[:MOST_LINES]}
        self._told |= kept.keys()
        return kept


def _lines(run: Run) -> Iterator[str]:
    output, error = run.output, run.error
    if len(output) > 2 * READ:
        head, tail = output[:READ], output[-READ:]
        output = head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 :]
    if len(error) == ERROR_TAIL:  # its first line is a part of one
        error = error[error.find(b"\n") + 1 :]
    for text in (output, error):
        yield from filter(None, map(without_numbers, text.decode(errors="replace").splitlines()))


def without_numbers(line: str) -> str:
    """Write # for words that have a digit, and their units; empty where no letter is left."""
    words: list[str] = []
    for word in _REPEATED.sub(r"\1", line[: 4 * LONGEST]).split():
        after = words[-1:] == ["#"]
        if _NUMBER.search(word):
            words += [] if after else ["#"]
        elif not (after and _UNIT.fullmatch(word)):
            words.append(word)
    shape = " ".join(words)[:LONGEST]
    return "".join(char if char.isprintable() else "?" for char in shape) if any(map(str.isalpha, shape)) else ""
