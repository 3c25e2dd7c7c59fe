"""The system call perf_event_open: what is to be counted, and what a refusal means."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import platform
import struct
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}
"""glibc has no wrapper: numbers from the kernel's syscall tables."""
HARDWARE, SOFTWARE, TRACEPOINT, HW_CACHE, RAW = range(5)
"""Types of linux/perf_event.h; a PMU of sysfs names its own."""
DUMMY = 9
"""PERF_COUNT_SW_DUMMY counts nothing."""
DISABLED, INHERIT, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 12
EXCLUDE_USER, EXCLUDE_KERNEL, EXCLUDE_HV = 1 << 4, 1 << 5, 1 << 6
EXCLUSIONS = EXCLUDE_USER | EXCLUDE_KERNEL | EXCLUDE_HV
"""Bits of the flag word of perf_event_attr."""
TIMES, GROUP = 1 << 0 | 1 << 1, 1 << 3
"""Read formats: the times that an event was enabled and counted; all events of a group in one read."""
ATTR_SIZE = 112
"""PERF_ATTR_SIZE_VER5: Linux 4.1 and later take it."""
ATTR_SIZE_CONFIG3 = 136
"""PERF_ATTR_SIZE_VER8, Linux 6.3: only where an event needs config3."""
FD_CLOEXEC = 8
ENABLE, SET_FILTER = 0x2400, 0x40082406
"""ioctls PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_SET_FILTER."""
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class Attr(NamedTuple):
    """What one event counts; `flags` leaves modes out."""

    type: int
    config: int
    config1: int = 0
    config2: int = 0
    config3: int = 0
    flags: int = 0

    def packed(self, flags: int = 0, read_format: int = TIMES) -> bytes:
        """Return it as the kernel's perf_event_attr."""
        size = ATTR_SIZE_CONFIG3 if self.config3 else ATTR_SIZE
        # type, size, config, sample period, sample type, read format, flags, wake-up, breakpoint type, config1, config2
        attr = struct.pack(
            "IIQQQQQIIQQ",
            *(self.type, size, self.config, 0, 0, read_format, self.flags | flags, 0, 0, self.config1, self.config2),
        )
        if self.config3:
            return attr.ljust(ATTR_SIZE_CONFIG3 - 8, b"\0") + struct.pack("Q", self.config3)
        return attr.ljust(ATTR_SIZE, b"\0")


def perf_event_open(attr: bytes, pid: int = 0, cpu: int = -1, group: int = -1) -> int:
    """Open an event of a task (0: the calling thread) or of a CPU (pid -1); raise OSError where it is refused."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"its number on {platform.machine()} is not known")
    asked = ctypes.create_string_buffer(attr, len(attr))
    file: int = libc().syscall(number, asked, pid, cpu, group, ctypes.c_ulong(FD_CLOEXEC))
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return file


def set_filter(file: int, text: str) -> None:
    """Let a tracepoint count only where its fields fit: `vec == 3`."""
    fcntl.ioctl(file, SET_FILTER, text.encode() + b"\0")


def enable(file: int) -> None:
    """Let an event count that was opened DISABLED, and with it its group."""
    fcntl.ioctl(file, ENABLE, 0)


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def refusal(error: OSError) -> str:
    """Say why the kernel refused an event, and the cure."""
    why = forbidden() if error.errno in (errno.EACCES, errno.EPERM) else CURES.get(error.errno or 0, KERNEL)
    return f"perf_event_open was refused ({error.strerror}): {why}"


def forbidden() -> str:
    """Tell what stands in the way of one who may not count."""
    level = PARANOID.read_text().strip() if PARANOID.exists() else "unknown"
    status = Path("/proc/self/status").read_text()
    if os.geteuid() == 0 and "\nSeccomp:\t2" in status:
        return "a container's seccomp profile forbids it: start the container with --cap-add PERFMON"
    return (
        f"perf_event_paranoid is {level}: run as root or sysctl -w kernel.perf_event_paranoid=1"
        " (-1 for tracepoints and for the whole machine), or give the capability CAP_PERFMON"
    )


NO_COUNTERS = (
    "this machine shows no hardware counters: run on bare metal, or give the virtual machine a PMU (-cpu host,pmu=on)"
)
KERNEL = "it needs a kernel with CONFIG_PERF_EVENTS and a container that lets it through"
CURES = {
    errno.ENOENT: "this processor has no such event: name another, `perf list` shows them",
    errno.EOPNOTSUPP: "this processor cannot count it: name another event",
    errno.EINVAL: "the PMU does not take this encoding: compare its terms with /sys/bus/event_source/devices/*/format",
    errno.ENODEV: "the PMU is not there on this CPU: name an event of another",
    errno.EBUSY: "somebody else holds the counter: end the other profiler",
    errno.EMFILE: "too many files are open: raise the limit with ulimit -n",
    errno.ENOSPC: "too many such events are open: name fewer",
}


@functools.cache
def thread() -> ThreadPoolExecutor:
    """Start the thread; whoever opens inherited perf events calls this first, for later threads inherit them too."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")
    executor.submit(int).result()
    return executor


def popen(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a helper program in a session of its own, so that Ctrl-C reaches us alone."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, start_new_session=True, **options)

    return thread().submit(start).result()
