"""Bring the page cache into the state that a run is to find: written back, without the inputs, or with them; look."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from ...knowledge.errors import VgoError
from .launch import Launch
from .system_calls import checked, libc


def prepare_files(launch: Launch) -> None:
    """Bring the page cache into the state that a run is to find."""
    if launch.sync:
        os.sync()
    if launch.evict:
        evict(launch.evict)
    if launch.prewarm:
        prewarm(launch.prewarm)


def prewarm(files: tuple[Path, ...]) -> None:
    """Read the files into the page cache; /dev/null takes them without a copy."""
    with open(os.devnull, "wb", buffering=0) as nowhere:
        for file in files:
            try:
                with open(file, "rb", buffering=0) as source:
                    left = os.fstat(source.fileno()).st_size
                    os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
                    while left > 0 and (sent := os.sendfile(nowhere.fileno(), source.fileno(), None, left)):
                        left -= sent
            except OSError as error:
                raise VgoError(f"The input file {file} cannot be read ({error.strerror}): mend or drop it.") from error


def evict(files: tuple[Path, ...]) -> None:
    """Drop the files from the page cache; what is dirty is written first, since the kernel keeps it otherwise."""
    for file in files:
        try:
            source = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fdatasync(source)
                os.posix_fadvise(source, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(source)
        except OSError as error:
            raise VgoError(f"The input file {file} cannot be evicted ({error.strerror}): mend or drop it.") from error


def resident_share(file: Path) -> float:
    """Ask mincore for the share of pages in memory; 1 for an empty file.

    Since Linux 5.2 the kernel tells the truth only about files that the asker owns or may write.
    """
    size = file.stat().st_size
    if size == 0:
        return 1.0
    with (
        file.open("rb") as opened,
        mmap.mmap(opened.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as view,
    ):
        pages = -(-size // mmap.PAGESIZE)
        states = (ctypes.c_ubyte * pages)()
        # ctypes takes an address only from a writable buffer; the map is private and never written.
        start = (ctypes.c_char * size).from_buffer(view)
        try:
            checked(libc().mincore(ctypes.byref(start), ctypes.c_size_t(size), states))
        finally:
            del start
        return sum(state & 1 for state in states) / pages
