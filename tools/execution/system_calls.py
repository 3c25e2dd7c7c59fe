"""System calls that have no wrapper in Python, and the numbers that they take."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Mapping
from typing import TypeVar

from ...knowledge.errors import VgoError
from ...layers.probes.perf_open import libc as libc

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
