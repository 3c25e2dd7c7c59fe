"""Read and write one file of the kernel, and put a value back together with those that the kernel couples to it.

Of the standard library only: the watchdog uses it too, in an interpreter without installed packages.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...layers.probes.sysfs import cpu_numbers

# `always [madvise] never`; sched/preempt marks its choice as `(full)`.
_MARKED = re.compile(r"(?:^|\s)(?:\[(\S+)\]|\((\S+)\))(?=\s|$)")
_PASSES = 3
"""Over a coupled group: a least frequency above the old greatest one is refused until that one is back."""
GPU = "nvml:"
_SETTINGS = ("/proc/sys/", "/sys/", "/proc/irq/", GPU)
_RUN_BY_THE_KERNEL = re.compile(
    r"/proc/sys/kernel/(core_pattern|modprobe|hotplug|poweroff_cmd|usermodehelper|sysrq)|/proc/sys/fs/binfmt_misc|"
    r"/sys/kernel/uevent_helper|/(release_agent|notify_on_release|cgroup\.kill)$"
)
"""Files whose value names a program that the kernel starts as root, or that end the machine: no settings."""
_TRIGGERS = re.compile(
    r"/sys/power/(disk|autosleep|resume|wakeup_count|wake_lock|wake_unlock|reserved_size|pm_test)$|"
    r"/proc/sys/vm/(drop_caches|compact_memory)$|/proc/sys/kernel/(modules_disabled|kexec_load_disabled)$|"
    r"/proc/sys/.*/flush$|/sys/devices/system/memory/|"
    r"/(state|uevent|bind|unbind|new_id|remove_id|driver_override|drivers_probe|drivers_autoprobe|remove|rescan|reset|delete|"
    r"wakealarm|probe|release)$|/(cgroup\.(procs|threads|freeze|subtree_control|type)|tasks|freezer\.state|"
    r"memory\.(reclaim|force_empty))$"
)
"""Files that do something once, stop what runs, or go one way only: no writing of the old value undoes it."""
UNTOLD = "not told"
"""What is read of a knob that does not tell its value: taken for ours."""


def is_setting(path: str) -> bool:
    """Tell whether a path is one that may be written and put back."""
    plain = path.startswith(GPU) or posixpath.normpath(path) == path
    named = plain and path.startswith(_SETTINGS)
    return named and not _RUN_BY_THE_KERNEL.search(path) and not _TRIGGERS.search(path)


class KernelRefusal(VgoError):
    """The kernel does not take a value, or has no such file; another one may do."""


class Gone(KernelRefusal):
    """There is no such file, or no longer."""


def in_force(text: str) -> str:
    """Pick the value in force out of what the file shows: the marked word, otherwise the words as they stand."""
    marked = _MARKED.search(text)
    return next(filter(None, marked.groups())) if marked else " ".join(text.split())


def cpu_list(text: str) -> tuple[int, ...]:
    """Parse the kernel's way of naming CPUs, `0-3,8`: in ascending order."""
    return tuple(sorted(cpu_numbers(text)))


class KernelFiles:
    """The files below `root`; only tests have another root than `/`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def read(self, path: str) -> str:
        """Read the value in force."""
        try:
            file = self.root / path.lstrip("/")
            # Root may open even what nobody may read.
            if not stat.S_IMODE(file.stat().st_mode) & 0o444:
                raise KernelRefusal(f"{path} can only be written, so nothing could be put back: leave it out.")
            return in_force(file.read_text())
        except OSError as error:
            kind = Gone if error.errno in (errno.ENOENT, errno.ENODEV) else KernelRefusal
            raise kind(f"Cannot read {path} ({error.strerror}): leave out the mitigation that sets it.") from error

    def write(self, path: str, value: str) -> None:
        """Write `value`; a refusal is told with its cure."""
        try:
            # Never creates: a path that this kernel does not have must not become a plain file.
            file = os.open(self.root / path.lstrip("/"), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            try:
                os.write(file, f"{value}\n".encode())
            finally:
                os.close(file)
        except OSError as error:
            raise KernelRefusal(_refusal(path, value, error)) from error

    def put_back(self, saved: Mapping[str, str]) -> tuple[str, ...]:
        """Write the saved values of a coupled group; name those that still differ.

        Nonzero values first: writing vm.dirty_ratio clears vm.dirty_bytes, whose own old value 0 is refused.
        """
        for _ in range(_PASSES):
            for path in sorted(saved, key=lambda path: saved[path] == "0"):
                if self.read(path) != saved[path]:
                    # Not silent: the whole group is read again, and what differs is named.
                    with contextlib.suppress(KernelRefusal):
                        self.write(path, saved[path])
            differing = tuple(path for path in saved if self.read(path) != saved[path])
            if not differing:
                break
        return differing


def _refusal(path: str, value: str, error: OSError) -> str:
    if error.errno == errno.EROFS:
        return f"Cannot write {path}: it is mounted read-only here; run vgo-agent on the host, or use --allow process."
    if isinstance(error, PermissionError) and os.geteuid() != 0:
        return f"Cannot write {path}: run vgo-agent as root, or use --allow process."
    return f"The kernel refuses {value!r} for {path} ({error.strerror}): use --allow process to leave it as it is."


@dataclass(frozen=True)
class SavedKnob:
    """One knob with the files that the kernel changes along with it, by path."""

    path: str
    wanted: str
    """What reads back once it is set; until its entry is `applied`, what was asked for."""
    saved: dict[str, str]
    """`path` and its siblings before."""
    coupled: bool = False
    """It shares files with another group of its entry, so that between two writes it may show other values."""


class KnobReturn(NamedTuple):
    """What became of a knob that was not as before."""

    said: str
    foreign: bool
    """Someone else changed it in between, so it was left alone."""


def put_group_back(values: KernelFiles, group: SavedKnob, known: bool) -> KnobReturn | None:
    """Put one group back and check all of it; None when it is as before.

    With `known` what is neither the old value nor `wanted` is someone else's. The old value beside a sibling that
    differs is ours: it was being put back when its agent was killed.
    """
    try:
        if as_before(values, group):
            return None
    except Gone:  # a device was taken out, or a control group was removed
        return KnobReturn(f"{group.path}: gone, so that there is nothing to put back", foreign=True)
    now, old = values.read(group.path), group.saved[group.path]
    if known and now not in (group.wanted, old, UNTOLD):
        said = f"{group.path}: left at {now}, because someone else changed it; it was {old} before vgo-agent"
        return KnobReturn(said, foreign=True)
    differing = values.put_back(group.saved)
    if differing:
        texts = ", ".join(f"{group.saved[path]} into {path}" for path in differing)
        raise VgoError(f"Cannot put back a setting: write {texts} as root, then run vgo-agent restore.")
    return KnobReturn(f"{group.path}: {now} -> {old}", foreign=False)


def as_before(values: KernelFiles, group: SavedKnob) -> bool:
    """Tell whether a knob and its siblings have the values they had."""
    return all(values.read(path) == old for path, old in group.saved.items())
