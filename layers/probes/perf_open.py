"""The system call perf_event_open: what is to be counted, and what a refusal means."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import platform
import re
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from .sysfs import cpu_numbers

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


class LockedTooMuch(OSError):
    """This user may not lock as much memory as the rings of an event take."""


def refusal(error: OSError) -> str:
    """Say why the kernel refused an event, or to tell what tracepoints there are, and the cure."""
    if isinstance(error, LockedTooMuch):
        return f"memory for its events was refused ({error.strerror}), and {LOCKED}"
    if error.filename is not None:
        return f"{error.filename} cannot be read ({error.strerror}): {TRACEPOINTS}"
    why = forbidden() if error.errno in (errno.EACCES, errno.EPERM) else CURES.get(error.errno or 0, KERNEL)
    return f"perf_event_open was refused ({error.strerror}): {why}"


def forbidden() -> str:
    """Tell what stands in the way of one who may not count."""
    level = PARANOID.read_text().strip() if PARANOID.exists() else "unknown"
    status = Path("/proc/self/status").read_text()
    if os.geteuid() == 0 and "\nSeccomp:\t2" in status:
        return SECCOMP
    return (
        f"perf_event_paranoid is {level}: run as root or sysctl -w kernel.perf_event_paranoid=1"
        " (-1 for tracepoints and for the whole machine), or give the capability CAP_PERFMON"
    )


LOCKED = "this user may lock no more memory: raise ulimit -l (a container: --ulimit memlock=-1:-1)"
SECCOMP = (
    "a container's seccomp profile forbids it: start the container with --cap-add SYS_ADMIN, or, for the program's own"
    " tasks alone, with --security-opt seccomp=unconfined (with Docker also --cap-add PERFMON)"
)
"""Podman's profile lets it through with SYS_ADMIN, Docker's with that or PERFMON."""
TRACEPOINTS = (
    "to mount it needs root or CAP_SYS_ADMIN (a container: --cap-add SYS_ADMIN), to read it where it is mounted"
    " CAP_PERFMON and its permissions (a container: -v /sys/kernel/tracing:/sys/kernel/tracing)"
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


DEVICES = "sys/bus/event_source/devices"
FIELDS = ("config", "config1", "config2", "config3")
CORE = ("cpu", "cpu_core", "cpu_atom", "cpu_lowpower")
"""Names of the PMUs of x86 cores; elsewhere a core's PMU is one that has a file `cpus`."""


class NoEvent(LookupError):
    """There is no such event here; says why, and the cure."""


class Pmu:
    """One folder of /sys/bus/event_source/devices."""

    def __init__(self, folder: Path) -> None:
        """Read its type; raise OSError or ValueError where it has none."""
        self.folder = folder
        self.type = int((folder / "type").read_text())

    @property
    def core(self) -> bool:
        """It counts what a CPU core does, so it can follow a task."""
        return self.folder.name in CORE or (self.folder / "cpus").exists()

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs on which to open what counts for a whole package; empty where events follow tasks."""
        mask = self.folder / "cpumask"
        return tuple(sorted(cpu_numbers(mask.read_text()))) if mask.exists() else ()

    def attr(self, terms: str) -> Attr:
        """Encode `event=0x3c,umask=0x1` or the name of a file in `events`."""
        words = dict.fromkeys(FIELDS, 0)
        for name, value in self._expanded(terms):
            field, bits = self._bits(name)
            words[field] |= packed(value, bits, f"{self.folder.name}/{name}")
        return Attr(self.type, *(words[field] for field in FIELDS))

    def scale(self, terms: str) -> float:
        """Return what one count of a named event stands for, in the unit of its file `.unit`."""
        file = self.folder / "events" / f"{terms}.scale"
        return float(file.read_text()) if file.is_file() else 1.0

    def _expanded(self, terms: str, named: bool = True) -> Iterator[tuple[str, int]]:
        for term in filter(None, re.split("[,;]", terms.strip())):
            name, equals, value = term.strip().partition("=")
            alias = self.folder / "events" / name
            if named and not equals and alias.is_file():
                # A name stands for terms; a `?` in them is left to be given by the terms that follow.
                yield from self._expanded(re.sub(r"[^,]*=\?,?", "", alias.read_text()), named=False)
                continue
            try:
                yield name, int(value, 0) if equals else 1
            except ValueError:
                raise NoEvent(f"{term} in {self.folder.name}/{terms}/ is not NAME=NUMBER: mend it") from None

    def _bits(self, name: str) -> tuple[str, list[int]]:
        if name in FIELDS:
            return name, list(range(64))
        file = self.folder / "format" / name
        if not file.is_file():
            known = ", ".join(
                sorted(path.name for part in ("format", "events") for path in self.folder.glob(f"{part}/*"))
            )
            raise NoEvent(f"the PMU {self.folder.name} has no {name}: name one of these: {known or 'none'}")
        field, _, ranges = file.read_text().strip().partition(":")
        return field, sorted(cpu_numbers(ranges))


def packed(value: int, bits: list[int], name: str) -> int:
    """Lay the bits of a number, the lowest first, at the given places of a word."""
    if value < 0 or value >> len(bits):
        raise NoEvent(f"{value:#x} does not fit into the {len(bits)} bits of {name}: give a smaller number")
    return sum((value >> place & 1) << bit for place, bit in enumerate(bits))


def pmus(root: Path) -> Mapping[str, Pmu]:
    """Return the PMUs of this machine by name."""
    found = {}
    for folder in sorted((root / DEVICES).glob("*")):
        try:
            found[folder.name] = Pmu(folder)
        except (OSError, ValueError):
            continue
    return found


def core_pmus(root: Path) -> list[Pmu]:
    """Return the PMUs of the cores: none in many virtual machines, two or more where cores differ."""
    return [pmu for pmu in pmus(root).values() if pmu.core]


def pmus_named(name: str, root: Path) -> list[Pmu]:
    """Return the PMU of a name, or all the numbered ones: `uncore_imc` stands for uncore_imc_0, uncore_imc_1 ..."""
    there = pmus(root)
    if name in there:
        return [there[name]]
    found = [pmu for key, pmu in there.items() if re.fullmatch(re.escape(name) + r"_?\d+", key)]
    if not found:
        raise NoEvent(f"there is no PMU {name}: {', '.join(there) or 'sysfs shows none'}")
    return found
