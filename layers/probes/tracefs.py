"""Tracepoints of this kernel: their numbers and where their fields lie, from tracefs."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import NamedTuple

from .perf_open import libc

FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432
"""System calls since Linux 5.2, with one number on all architectures but alpha."""
CREATE = 6
TRACEFS = "sys/kernel/tracing"
FIELD = re.compile(r"field:[^;]*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);")


class TraceFormat(NamedTuple):
    """A tracepoint: its number and where its fields lie, in bytes."""

    number: int
    offsets: dict[str, int]


def trace_formats(root: Path, events: tuple[str, ...]) -> dict[str, TraceFormat]:
    """Read the formats of events, named as `sched/sched_switch`; raises OSError where tracefs cannot be had."""
    folder = tracefs(root)
    try:
        return {event: trace_format(folder, f"events/{event}/format") for event in events}
    finally:
        os.close(folder)


def trace_format(folder: int, path: str) -> TraceFormat:
    """Read one format below a folder."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)) as file:
        text = file.read()
    number = re.search(r"^ID: (\d+)", text, re.MULTILINE)
    assert number is not None, path
    return TraceFormat(int(number[1]), {name: int(offset) for name, offset in FIELD.findall(text)})


def tracefs(root: Path) -> int:
    """Open the folder of tracefs: where it is mounted, else by a mount that nobody else sees and that ends with us."""
    mounted = root / TRACEFS
    if (mounted / "events").is_dir():
        return os.open(mounted, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        context = called(FSOPEN, b"tracefs", 1)
        try:
            called(FSCONFIG, context, CREATE, None, None, 0)
            return called(FSMOUNT, context, 1, 0)
        finally:
            os.close(context)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"/{TRACEFS}") from error


def called(number: int, *arguments: object) -> int:
    """Make a system call that glibc may not have; raise OSError where it fails."""
    result: int = libc().syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
