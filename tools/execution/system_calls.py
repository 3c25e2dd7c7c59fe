"""System calls that have no wrapper in Python, and the page cache that is emptied and filled by them."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from ...knowledge.errors import VgoError
from ...layers.probes.perf_open import libc as libc
from .launch import Launch

T = TypeVar("T")
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
PR_SET_THP_DISABLE, PR_GET_THP_DISABLE = 41, 42
ADDR_NO_RANDOMIZE = 0x0040000
READ_PERSONALITY = 0xFFFFFFFF
IOPRIO_WHO_PROCESS = 1
IOPRIO_CLASS_SHIFT = 13
IOPRIO_IDLE = 3
"""The class that has no levels."""
IOPRIO_CALLS = {"x86_64": (251, 252), "aarch64": (30, 31)}
"""ioprio_set and ioprio_get have no wrapper in glibc: numbers from the kernel's syscall tables."""
SCHED_ATTR_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275)}
"""sched_setattr and sched_getattr."""
SCHED_ATTR = struct.Struct("=IIQiIQQQ")
"""sched_setattr(2): size, policy, flags, nice, priority, then runtime, deadline and period in nanoseconds."""


def deadline_of(pid: int) -> tuple[int, int]:
    """Ask for the runtime and the period of a process, in nanoseconds; 0 where its policy is another."""
    attributes = ctypes.create_string_buffer(SCHED_ATTR.size)
    _, number = call_number(SCHED_ATTR_CALLS, "The deadline policy")
    checked(libc().syscall(number, pid, attributes, SCHED_ATTR.size, 0))
    *_, runtime_ns, _, period_ns = SCHED_ATTR.unpack(attributes.raw)
    return runtime_ns, period_ns


def io_priority() -> int:
    """Return the I/O priority of the calling thread, class and level in one number."""
    return checked(libc().syscall(io_priority_calls()[1], IOPRIO_WHO_PROCESS, 0))


def set_io_priority(priority: int) -> None:
    """Set the I/O priority of the calling thread."""
    checked(libc().syscall(io_priority_calls()[0], IOPRIO_WHO_PROCESS, 0, priority))


def io_priority_calls() -> tuple[int, int]:
    """Return the numbers of ioprio_set and ioprio_get on this machine."""
    return call_number(IOPRIO_CALLS, "The I/O class")


def call_number(numbers: Mapping[str, T], what: str) -> T:
    """Pick the numbers of this machine."""
    machine = platform.machine()
    if machine not in numbers:
        raise VgoError(f"{what} cannot be set on {machine} (known: {', '.join(numbers)}): leave it out.")
    return numbers[machine]


def prctl(option: int, value: int = 0) -> int:
    """Call prctl with one argument; the kernel wants zeros in the rest."""
    zero = ctypes.c_ulong(0)
    return checked(libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def checked(result: int) -> int:
    """Raise OSError when a C call returned -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


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
