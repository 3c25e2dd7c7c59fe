"""A control group of its own for the runs of a mitigation, version 1 or 2; a dead agent's is found by its name."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...knowledge.actions import ControlGroup, Controller, Spawn
from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_tree import MOUNT, own_groups, unified
from ...layers.probes.sysfs import text_of
from ..execution.launch import Launch, RunGroup
from ..machine import GroupPlace, Machine
from .guard import RUN_GROUP
from .kernel_file import KernelRefusal
from .owned_folder import Owner, this_process
from .parameters import chosen_cpus

CONTROLLERS: tuple[Controller, ...] = ("cpu", "cpuset", "memory")
VERSION_2 = {"blkio": "io"}
"""What it calls those that have another name there."""
PREFIX = RUN_GROUP
"""Not that of the layer cgroup, whose leaves of a living agent are never empty; these are between two runs."""
MEMBERS = {1: "tasks", 2: "cgroup.procs"}
"""In version 1 a thread moves alone; in version 2 only a whole process can."""
_NAME = re.compile(rf"{PREFIX}(\d+)-(\d+)-\d+$")
_LEAF = re.compile(r"vgo-agent-\d+$")
_SHARES_AT_100 = 1024
_LEAST_SHARES, _MOST_SHARES = 2, 262_144
PERIOD_US = 100_000
"""The usual period of a CPU quota."""
_numbers = itertools.count(1)
CURE = (
    "run as root, and where control groups are version 2 below a group that hands it on "
    "(systemd-run --scope -p Delegate=yes)"
)
LIMITS = {"memory.max": "memory.current", "memory.high": "memory.current"} | {
    f"memory.{name}limit_in_bytes": f"memory.{name}usage_in_bytes" for name in ("", "memsw.")
}
"""File of a control group, of either version, to the one that shows what is in use."""
_BYTES = re.compile(r"(0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*|)([kmgtpe]?)", re.IGNORECASE)
_SUFFIXES = "kmgtpe"
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class ControlGroupFolder:
    """What one folder of control groups has to have."""

    place: GroupPlace
    controllers: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)


def controllers_of(group: ControlGroup) -> tuple[Controller, ...]:
    """Name the controllers that a group needs."""
    needed = group.needs
    return tuple(name for name in CONTROLLERS if name in needed)


def place_of(controller: str, root: Path = Path("/")) -> GroupPlace | None:
    """Find where this process can make a control group with that controller; None where it cannot."""
    groups, handed = own_groups(root), VERSION_2.get(controller, controller)
    if controller in groups:
        folder: Path | None = groups[controller][0]
    else:
        folder = next((one for one in groups.get("", []) if handed in _handed(one)), None)
    if folder is None or not os.access(folder, os.W_OK):
        return None
    mems = text_of(folder / "cpuset.mems") if controller == "cpuset" and controller in groups else ""
    return GroupPlace(folder=str(folder), version=1 if controller in groups else 2, mems=mems)


def places(root: Path = Path("/")) -> dict[str, GroupPlace]:
    """Find, by controller, where this process can make a control group."""
    found = {name: place for name in CONTROLLERS if (place := place_of(name, root))}
    # All that a mitigation sets of memory there, swappiness, is known to version 1 only.
    return {name: place for name, place in found.items() if name != "memory" or place.version == 1}


def parts(spawn: Spawn, machine: Machine) -> tuple[ControlGroupFolder, ...]:
    """Say which folders get which values; those of one folder together."""
    by_folder: dict[str, ControlGroupFolder] = {}
    cpus = chosen_cpus(spawn.group.cpus, spawn.reserved_cpus, machine) if spawn.group.cpus else frozenset()
    for controller in controllers_of(spawn.group):
        place = _place(controller, spawn.group, machine)
        before = by_folder.get(place.folder, ControlGroupFolder(place, ()))
        values = _values(controller, spawn.group, cpus, place)
        by_folder[place.folder] = ControlGroupFolder(place, (*before.controllers, controller), before.values | values)
    return tuple(by_folder.values())


def _place(controller: str, group: ControlGroup, machine: Machine) -> GroupPlace:
    """Find where the group is made; a limit of memory in version 2 stands where the CPU's does."""
    if controller in machine.groups:
        return machine.groups[controller]
    shared = machine.groups.get("cpu")
    limits = controller == "memory" and group.swappiness is None
    if limits and shared and shared.version == 2 and controller in _handed(Path(shared.folder)):
        return shared
    raise VgoError(f"No control group with the controller {controller} can be made here: {CURE}.")


@contextlib.contextmanager
def in_own_group(launch: Launch, spawn: Spawn, machine: Machine, root: Path = Path("/")) -> Iterator[Launch]:
    """Make the groups for the time of the context and give a launch that is born in them; none where none is asked."""
    if not controllers_of(spawn.group):
        yield launch
        return
    with contextlib.ExitStack() as stack:
        homes = own_groups(root)
        made = tuple(stack.enter_context(made_group(part, homes)) for part in parts(spawn, machine))
        yield replace(launch, groups=(*launch.groups, *made))


@contextlib.contextmanager
def made_group(part: ControlGroupFolder, homes: dict[str, list[Path]]) -> Iterator[RunGroup]:
    """Make one group for the time of the context; `homes` are the groups of this process, by controller."""
    version = part.place.version
    home = homes[part.controllers[0] if version == 1 else ""][0]
    if version == 2 and _LEAF.match(home.name):
        raise VgoError("The layer cgroup holds this process in a group of its own: leave the layer out.")
    owner = this_process()
    folder = Path(part.place.folder) / f"{PREFIX}{owner.pid}-{owner.start}-{next(_numbers)}"
    try:
        folder.mkdir()
    except OSError as error:
        raise KernelRefusal(f"No control group can be made in {folder.parent} ({error.strerror}): {CURE}.") from error
    try:
        for name, value in part.values.items():
            _write(folder / name, value)
        yield RunGroup(folder, home, MEMBERS[version], part.controllers, part.values)
    finally:
        _remove(folder)


def remove_run_groups() -> list[str]:
    """Remove the groups that dead agents left, with what runs in them moved out where that is possible; name them."""
    mount = Path("/") / MOUNT
    tops = {mount / controller for controller in (*CONTROLLERS, *VERSION_2)} | {unified() or mount}
    told = []
    for top in sorted(top.resolve() for top in tops if top.is_dir()):
        for parent, names, _ in os.walk(top, topdown=False):
            for folder in (Path(parent, name) for name in names if _left_behind(name)):
                told.append(f"{folder}: {_remove(folder) or 'removed'}, the control group of an agent that died")
    return told


def _left_behind(name: str) -> bool:
    named = _NAME.match(name)
    return named is not None and not Owner(int(named[1]), int(named[2])).alive


def _remove(folder: Path) -> str:
    """Remove a group; say why not where a process stays in it."""
    if (folder / "tasks").exists():  # version 1: what still runs goes where it would have been without us
        with contextlib.suppress(FileNotFoundError):
            for pid in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    (folder.parent / "cgroup.procs").write_text(pid)
    try:
        folder.rmdir()
    except FileNotFoundError:  # another agent was first
        return ""
    except OSError as error:
        return f"not removed ({error.strerror}: end what runs in it, then vgo-agent restore)"
    return ""


def _write(path: Path, value: str) -> None:
    try:
        path.write_text(value)
    except OSError as error:
        raise KernelRefusal(
            f"The kernel refuses {value!r} for {path.name} of a new control group ({error.strerror}): "
            "leave the mitigation out."
        ) from error


def _values(controller: str, group: ControlGroup, cpus: frozenset[int], place: GroupPlace) -> dict[str, str]:
    if controller == "memory":
        return _memory(group, place)
    if controller == "cpuset":
        listed = ",".join(map(str, sorted(cpus)))
        return {"cpuset.cpus": listed} | ({"cpuset.mems": place.mems} if place.version == 1 else {})
    quota = quota_files(place.version, group.cpu_quota_us, PERIOD_US) if group.cpu_quota_us is not None else {}
    return {**_weight(group, place), **quota}


def _memory(group: ControlGroup, place: GroupPlace) -> dict[str, str]:
    limit = "memory.max" if place.version == 2 else "memory.limit_in_bytes"
    asked = {"memory.swappiness": group.swappiness, limit: group.memory_bytes}
    return {name: str(value) for name, value in asked.items() if value is not None}


def _weight(group: ControlGroup, place: GroupPlace) -> dict[str, str]:
    if group.cpu_weight is None:
        return {}
    if place.version == 2:
        return {"cpu.weight": str(group.cpu_weight)}
    return {"cpu.shares": str(min(_MOST_SHARES, max(_LEAST_SHARES, group.cpu_weight * _SHARES_AT_100 // 100)))}


def quota_files(version: int, quota_us: object, period_us: int) -> dict[str, str]:
    """Give the files of a group that hold a quota of CPU time, in the order of writing."""
    if version == 2:
        return {"cpu.max": f"{quota_us} {period_us}"}
    return {"cpu.cfs_period_us": str(period_us), "cpu.cfs_quota_us": str(quota_us)}


def _handed(folder: Path) -> list[str]:
    """Controllers that the folder hands to the groups below it."""
    return text_of(folder / "cgroup.subtree_control").split()


def limit_bytes(value: str) -> int | None:
    """Read bytes as memparse does (lib/cmdline.c) and round down to pages; None: no limit, or the kernel refuses it.

    `0x` is hexadecimal, a leading 0 octal, K to E in either case are powers of 1024, no digits are 0, and what does not
    fit into 64 bits wraps around. A null byte ends it.
    """
    found = _BYTES.fullmatch(value.partition("\0")[0].strip())
    if not found:
        return None
    digits, suffix = found[1].lower(), found[2].lower()
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    shift = 10 * (_SUFFIXES.index(suffix) + 1) if suffix else 0
    bytes_ = ((int(digits or "0", base) & _WORD) << shift) & _WORD
    return bytes_ - bytes_ % mmap.PAGESIZE
