"""What perf's names of events mean: `cycles`, `LLC-load-misses:u`, `sched:sched_switch if prev_state & 2`, `r01c2`.

And where the fields of tracepoints lie.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .perf_open import (
    ATTR_SIZE_CONFIG3,
    EXCLUDE_HV,
    EXCLUDE_KERNEL,
    EXCLUDE_USER,
    EXCLUSIONS,
    HARDWARE,
    HW_CACHE,
    RAW,
    SOFTWARE,
    TRACEPOINT,
    Attr,
    NoEvent,
    Pmu,
    core_pmus,
    libc,
    pmus,
    pmus_named,
)

LIBRARY = "libpfm.so.4"
USER_AND_KERNEL = 1 | 8
"""PFM_PLM0 | PFM_PLM3."""
FOR_PERF = 1
"""PFM_OS_PERF_EVENT."""
ROOM = 512
"""Bytes for perf_event_attr, which grows with the library."""


class PfmEncodeArgument(ctypes.Structure):
    """pfm_perf_encode_arg_t of perfmon/pfmlib_perf_event.h."""

    _fields_ = (
        ("attr", ctypes.c_void_p),
        ("full_name", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("index", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("padding", ctypes.c_int),
    )


def encoded(name: str) -> Attr:
    """Ask libpfm4; raise NoEvent where it is not installed or does not know the event on this processor."""
    library = libpfm()
    if library is None:
        raise NoEvent(
            f"no event {name} is known: mend the name, or install libpfm4 for names of the processor's manual"
        )
    attr = ctypes.create_string_buffer(ROOM)
    wanted = PfmEncodeArgument(attr=ctypes.addressof(attr), size=ctypes.sizeof(PfmEncodeArgument))
    failed = library.pfm_get_os_event_encoding(name.encode(), USER_AND_KERNEL, FOR_PERF, ctypes.byref(wanted))
    if failed:
        raise NoEvent(f"libpfm4 does not know {name} on this processor: mend the name, `perf list` shows those of perf")
    kind, _, config, _, _, _, flags = struct.unpack_from("IIQQQQQ", attr)
    config1, config2 = struct.unpack_from("QQ", attr, 56)
    (config3,) = struct.unpack_from("Q", attr, ATTR_SIZE_CONFIG3 - 8)
    return Attr(kind, config, config1, config2, config3, flags & EXCLUSIONS)


@functools.cache
def libpfm() -> ctypes.CDLL | None:
    """Load the library and let it find this processor; None where it is not installed."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    library.pfm_initialize()
    return library


def numbered(names: str) -> dict[str, int]:
    """Number names by their places, from 0; names of one thing stand together with a comma."""
    return {name: number for number, both in enumerate(names.split()) for name in both.split(",")}


SOFTWARE_EVENTS = numbered(
    "cpu-clock task-clock page-faults,faults context-switches,cs cpu-migrations,migrations minor-faults major-faults "
    "alignment-faults emulation-faults dummy bpf-output cgroup-switches"
)
HARDWARE_EVENTS = numbered(
    "cycles,cpu-cycles instructions cache-references cache-misses branch-instructions,branches branch-misses "
    "bus-cycles stalled-cycles-frontend,idle-cycles-frontend stalled-cycles-backend,idle-cycles-backend ref-cycles"
)
"""perf's names of PERF_COUNT_SW_* and PERF_COUNT_HW_* of linux/perf_event.h."""
CACHES = numbered("L1-dcache L1-icache LLC dTLB iTLB branch node")
OPERATIONS = numbered("load store prefetch")
CACHE = re.compile(rf"({'|'.join(CACHES)})-(?:({'|'.join(OPERATIONS)})(e?s|-misses)|(misses))")
MODIFIERS = re.compile(r"(?P<event>.+):(?P<modes>[ukh]+)")
"""`:u` counts in user mode alone, `:k` in the kernel; no tracepoint is called so."""
TRACING = ("sys/kernel/tracing", "sys/kernel/debug/tracing")
"""Where tracefs is mounted."""
EXTENDED_TYPE = 32
"""Bit of config from which on a hardware event names one of several core PMUs."""


class PerfTarget(NamedTuple):
    """One event to open: with the thread that starts the runs (no CPUs), or on each of some CPUs."""

    attr: Attr
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class PerfEvent:
    """What one name stands for; its value is the sum over its targets."""

    targets: tuple[PerfTarget, ...]
    filter: str = ""
    scale: float = 1.0

    @property
    def hardware(self) -> bool:
        """A PMU counts it, not the kernel."""
        return self.targets[0].attr.type not in (SOFTWARE, TRACEPOINT)

    @property
    def core(self) -> bool:
        """A core's own PMU counts it, which many virtual machines do not have."""
        return self.targets[0].attr.type in (HARDWARE, HW_CACHE, RAW)


def find_event(text: str, root: Path) -> PerfEvent:
    """Find what a name means on this machine; raise NoEvent, with the cure, where it means nothing."""
    name, _, condition = text.partition(" if ")
    modes = MODIFIERS.fullmatch(name)
    event = named(modes["event"] if modes else name, root)
    if condition and event.targets[0].attr.type != TRACEPOINT:
        raise NoEvent(f"{name} is no tracepoint, so it takes no filter ({condition}): leave it out")
    bits = {"u": EXCLUDE_USER, "k": EXCLUDE_KERNEL, "h": EXCLUDE_HV}
    flags = EXCLUSIONS & ~sum(bits[mode] for mode in set(modes["modes"])) if modes else 0  # modes that are not named
    targets = tuple(
        target._replace(attr=target.attr._replace(flags=target.attr.flags | flags)) for target in event.targets
    )
    return PerfEvent(targets, condition, event.scale)


def named(name: str, root: Path) -> PerfEvent:
    """Try the kinds of names, the surest first."""
    if name in SOFTWARE_EVENTS:
        return PerfEvent((PerfTarget(Attr(SOFTWARE, SOFTWARE_EVENTS[name])),))
    if name in HARDWARE_EVENTS:
        return on_cores(HARDWARE, HARDWARE_EVENTS[name], root)
    if cache := CACHE.fullmatch(name):
        return on_cores(HW_CACHE, cache_event(*cache.groups()), root)
    if re.fullmatch(r"r[0-9a-fA-F]+", name):
        return PerfEvent((PerfTarget(Attr(RAW, int(name[1:], 16))),))
    if slashed := re.fullmatch(r"([^/]+)/([^/]*)/", name):
        return of_pmus(pmus_named(slashed[1], root), slashed[2])
    if found := [pmu for pmu in pmus(root).values() if (pmu.folder / "events" / name).is_file()]:
        return of_pmus([pmu for pmu in found if pmu.core] or found, name)
    if tracepoint := re.fullmatch(r"([a-z0-9_]+):([A-Za-z0-9_]+)", name):
        return PerfEvent((PerfTarget(Attr(TRACEPOINT, tracepoint_id(tracepoint[1], tracepoint[2], root))),))
    return PerfEvent((PerfTarget(encoded(name)),))


def on_cores(kind: int, config: int, root: Path) -> PerfEvent:
    """Return a generalized event; where cores differ (P and E cores), one for each kind of core."""
    cores = core_pmus(root)
    if len(cores) < 2:
        return PerfEvent((PerfTarget(Attr(kind, config)),))
    return PerfEvent(tuple(PerfTarget(Attr(kind, pmu.type << EXTENDED_TYPE | config)) for pmu in cores))


def of_pmus(found: list[Pmu], terms: str) -> PerfEvent:
    """Return an event of all the PMUs of a name."""
    return PerfEvent(tuple(PerfTarget(pmu.attr(terms), pmu.cpus) for pmu in found), scale=found[0].scale(terms))


def cache_event(cache: str, operation: str | None, result: str | None, misses: str | None) -> int:
    """Encode `LLC-load-misses`, `dTLB-stores`; `iTLB-misses` is short for its loads."""
    missed = bool(misses) or result == "-misses"
    return CACHES[cache] | OPERATIONS[operation or "load"] << 8 | missed << 16


def tracepoint_id(system: str, event: str, root: Path) -> int:
    """Return the number that tracefs gives a tracepoint."""
    mounted = [root / place / "events" for place in TRACING if readable(root / place / "events")]
    if not mounted:
        if (root / TRACING[0]).is_dir():
            raise NoEvent(
                "tracefs is not mounted or not for this user: as root, mount -t tracefs nodev /sys/kernel/tracing"
            )
        raise NoEvent("this kernel has no tracepoints: it needs CONFIG_FTRACE and CONFIG_EVENT_TRACING")
    file = mounted[0] / system / event / "id"
    try:
        return int(file.read_text())
    except PermissionError:
        raise NoEvent(f"{file} is for root alone: run as root") from None
    except (OSError, ValueError):
        raise NoEvent(f"this kernel has no tracepoint {system}:{event}: it needs one that was built with it") from None


def readable(folder: Path) -> bool:
    """Tell whether a folder is there and may be entered."""
    try:
        return folder.is_dir()
    except PermissionError:
        return False


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
