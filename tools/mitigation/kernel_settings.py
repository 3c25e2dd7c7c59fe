"""From the writes of a mitigation to the files of this machine: patterns, control groups, values read beside a path."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.actions import Write
from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import own_groups
from ..machine import Machine
from .kernel_file import Gone, KernelFiles, KernelRefusal, cpu_list, in_force, is_setting
from .run_group import LIMITS, VERSION_2, limit_bytes

ROUNDED = 0.1
"""The share by which a number may differ that the kernel made of the one asked for: clocks and pages have steps."""
_UNLIMITED = 1 << 60
"""No memory limit of version 1 reads as a number of pages about this large."""
_NUMBER = re.compile(r"-?\d+")
_GROUP = re.compile(r"\{cgroup\.(cpu|memory|cpuset|blkio)\}(/[^*{}]*)")
_BESIDE = re.compile(r"\{(max|min):([^{}]+)\}")
_SHARE = re.compile(r"\{(\d+)%:([^{}]+)\}")
"""`{80%:FILE}`: that share of the largest number in FILE, beside the path."""
_PLACE = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class KernelSetting:
    """One file to set."""

    path: str
    value: str
    siblings: tuple[str, ...] = ()
    """Those that are there."""
    optional: bool = False
    here_only: bool = True
    """Its value, or what its path stands for, was found on this machine."""


@dataclass(frozen=True)
class Resolved:
    """What the writes of a mitigation are on this machine."""

    knobs: tuple[KernelSetting, ...]
    left_out: tuple[str, ...]
    """In words: what is not there."""


def resolve(writes: Iterable[Write], machine: Machine, root: Path = Path("/")) -> Resolved:
    """Find the files of each write, in order; VgoError where one that is not optional has none, or nothing is left."""
    places = _Places(machine, root)
    knobs, left_out = list[KernelSetting](), list[str]()
    for write in writes:
        try:
            knobs += places.knobs(write)
        except KernelRefusal as missing:
            if not write.optional:
                raise
            left_out.append(f"{write.path}: left out, it is not there")
            if "*" not in write.path and not isinstance(missing, Gone):
                left_out[-1] = f"{write.path}: left out ({missing})"
    if left_out and not knobs:
        raise KernelRefusal(f"Nothing of this mitigation can be set here ({'; '.join(left_out)}): leave it out.")
    return Resolved(tuple(knobs), tuple(left_out))


def same(asked: str, seen: str) -> bool:
    """Tell whether a value reads back as what was asked for, in another spelling perhaps.

    Leading zeros and commas of a mask, `0-1` for `0,1`, `Y` for 1, a period after `max` in cpu.max, no limit for -1.
    """
    asked = in_force(asked)
    if asked == seen or seen.split()[: len(asked.split())] == asked.split():
        return True
    if asked in ("0", "1") and seen in ("N", "Y"):
        return (seen == "Y") == (asked == "1")
    if asked == "-1" and seen.isdigit():
        return int(seen) >= _UNLIMITED
    return _spelled(asked) == _spelled(seen)


def rounded(asked: str, seen: str) -> bool:
    """Tell whether the kernel made another number of the one asked for, near enough to count as that."""
    if not (_NUMBER.fullmatch(asked) and _NUMBER.fullmatch(seen)):
        return False
    return int(seen) != int(asked) and abs(int(seen) - int(asked)) <= ROUNDED * abs(int(asked))


def in_force_already(knobs: Iterable[KernelSetting], root: Path = Path("/")) -> bool:
    """Tell whether every knob has its value, so that nothing would change."""
    files = KernelFiles(root)
    return all(same(knob.value, files.read(knob.path)) for knob in knobs)


def cpu_mask(cpus: Iterable[int]) -> str:
    """Write CPUs as the kernel takes a mask: hexadecimal, in groups of 32 bits."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = [bits >> shift & 0xFFFFFFFF for shift in range(0, max(1, bits.bit_length()), 32)]
    first, *rest = reversed(groups)
    return ",".join([f"{first:x}", *(f"{group:08x}" for group in rest)])


def _spelled(value: str) -> object:
    """Read a list of CPUs or a mask as what it means; anything else stays as it is."""
    if re.fullmatch(r"[0-9a-f]{1,8}(,[0-9a-f]{8})*", value):
        return int(value.replace(",", ""), 16)
    return frozenset(cpu_list(value)) if re.fullmatch(r"\d+([-,]\d+)+", value) else value


class _Places:
    """The tree below `root`, with what its words stand for."""

    def __init__(self, machine: Machine, root: Path) -> None:
        self._machine = machine
        self._root = root
        self._files = KernelFiles(root)

    def knobs(self, write: Write) -> Iterator[KernelSetting]:
        found = list(self._paths(write.path))
        if not found:
            raise Gone(f"Nothing here matches {write.path}: leave out the mitigation that sets it.")
        for path in found:
            if not is_setting(path):
                raise VgoError(f"{path} is no setting that vgo-agent writes: take it out of the mitigation.")
            if not self._files.read(path):
                raise KernelRefusal(f"{path} shows no value that could be put back: take it out of the mitigation.")
            value = self._value(write.value, path)
            self._refuse_starving(path, value)
            siblings = tuple(sibling for name in write.siblings for sibling in self._siblings(name, path))
            yield KernelSetting(path, value, siblings, write.optional)

    def _paths(self, pattern: str) -> Iterator[str]:
        """Give the files that a path with its words stands for."""
        group = _GROUP.match(pattern)
        path = self._in_group(group[1], group[2]) if group else pattern
        if "*" not in path:
            if not (self._root / path.lstrip("/")).exists():
                raise Gone(f"Cannot read {path} (No such file or directory): leave out the mitigation that sets it.")
            yield path
            return
        literal = re.sub(r"[?[]", r"[\g<0>]", path.lstrip("/"))
        for name in sorted(glob.glob(literal, root_dir=self._root)):
            yield f"/{name}"

    def _in_group(self, controller: str, file: str) -> str:
        """Find a file in the group that this process is in, or in the nearest one above it that has the file."""
        groups = own_groups(self._root)
        folders = [*groups.get(controller, ()), *groups.get(VERSION_2.get(controller, ""), ()), *groups.get("", ())]
        for folder in folders:
            if (folder / file.lstrip("/")).exists():
                return f"/{folder.relative_to(self._root)}{file}"
        raise Gone(f"No control group of this process has {file.lstrip('/')}: leave out the mitigation that sets it.")

    def _siblings(self, name: str, path: str) -> Iterator[str]:
        sibling = name if "/" in name else f"{path.rpartition('/')[0]}/{name}"
        try:
            found = list(self._paths(sibling))
        except Gone:
            return  # a kernel without it has nothing to couple
        yield from (one for one in found if one != path)

    def _value(self, value: str, path: str) -> str:
        quiet = self._machine.quiet_cpu
        words: Mapping[str, str] = {}
        if "_but_quiet}" in value:
            others = [cpu for cpu in self._online() if cpu != quiet]
            if not others:
                raise VgoError(f"{path} would be left without a CPU: this machine has one only.")
            words = {"{cpus_but_quiet}": ",".join(map(str, others)), "{mask_but_quiet}": cpu_mask(others)}
        value = _PLACE.sub(lambda found: words.get(found[0], found[0]), value)
        value = _BESIDE.sub(lambda found: self._extreme(found[1], found[2], path), value)
        value = _SHARE.sub(lambda found: str(int(found[1]) * int(self._extreme("max", found[2], path)) // 100), value)
        if left := _PLACE.search(value):
            raise VgoError(f"Nothing says what {left[0]} is, in the value of {path}: name it as a parameter.")
        return value

    def _online(self) -> tuple[int, ...]:
        try:
            return cpu_list(self._files.read("/sys/devices/system/cpu/online"))
        except KernelRefusal:
            return self._machine.cpus

    def _extreme(self, which: str, file: str, path: str) -> str:
        beside = file if file.startswith("/") else f"{path.rpartition('/')[0]}/{file}"
        numbers = [int(word) for word in self._files.read(beside).split() if _NUMBER.fullmatch(word)]
        if not numbers:
            raise KernelRefusal(f"{beside} shows no number: leave out the mitigation that sets {path}.")
        return str(max(numbers) if which == "max" else min(numbers))

    def _refuse_starving(self, path: str, value: str) -> None:
        """Refuse a memory limit below what is in use: the kernel would kill what runs in the group, us included."""
        folder, _, name = path.rpartition("/")
        limit = limit_bytes(value) if name in LIMITS else None
        if limit is not None:
            used = self._files.read(f"{folder}/{LIMITS[name]}")
            if used.isdigit() and limit <= int(used):
                raise VgoError(f"{path} = {value} would kill what runs there, which uses {used} bytes: ask for more.")
