"""Which run is going on, in memory that a watchdog shares: it ends the run when this process is killed."""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Iterable
from typing import NamedTuple

from .tree import stat

SIZE, PAGE = 40, 4096


MOST_ORPHANS = 100


class _Shared(NamedTuple):
    file: int
    memory: mmap.mmap


class Noted(NamedTuple):
    """A run that is going on."""

    pid: int = 0
    """The process that leads it; 0: none is going on."""
    until_ns: int = 0
    """When it should have been ended, on the monotonic clock; 0: it has no limit."""


def output_name(agent: int, start: int) -> str:
    """Name the files in memory that the runs of an agent print into, so that whoever has one open is known by it."""
    return f"output of a run of vgo-agent {agent}-{start}"


def note(pid: int, until_ns: int = 0) -> None:
    """Note the process that leads the run, 0 where none is going on; takes about a microsecond."""
    _shared().memory[:SIZE] = b"%-16d%-24d" % (pid, until_ns)


def note_orphans(pids: Iterable[int]) -> None:
    """Note which processes of the run have become our children: when this process is killed they are nobody's."""
    words = [b"%d %s" % (pid, fields[19].encode()) for pid in pids if (fields := stat(pid))]
    _shared().memory[SIZE:] = b" ".join(words[:MOST_ORPHANS]).ljust(PAGE - SIZE)


def noted_orphans(file: int) -> list[int]:
    """Read those of another process that still live: a number that was given anew has another start."""
    words = os.pread(file, PAGE, SIZE).rstrip(b"\0").decode().split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return [int(pid) for pid, start in pairs if stat(int(pid))[19:20] == [start]]


def noted(file: int) -> Noted:
    """Read the note of another process from its file."""
    words = os.pread(file, SIZE, 0).rstrip(b"\0").split()
    return Noted(*map(int, words)) if len(words) == len(Noted._fields) else Noted()


def shared_file() -> int:
    """Give the file in memory that a watchdog reads."""
    return _shared().file


@functools.cache
def _shared() -> _Shared:
    file = os.memfd_create("the run that is going on")
    os.ftruncate(file, PAGE)
    return _Shared(file, mmap.mmap(file, PAGE))
