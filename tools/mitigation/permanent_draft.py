"""What the writers of permanent settings share."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...knowledge.actions import Apply, Spawn, Write
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..machine import Machine
from .cpu_choice import chosen_cpus
from .knobs import resolve

PROC_SYS = "/proc/sys/"


@dataclass(frozen=True)
class Draft:
    """Lines of one format, or why there are none."""

    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""


class Target(NamedTuple):
    """What is kept, where, and for what."""

    mitigation: Mitigation
    machine: Machine
    program: tuple[str, ...]

    @property
    def command(self) -> str:
        """The program as a shell line, or a word that stands for it."""
        return shlex.join(self.program) or "PROGRAM"


class Setting(NamedTuple):
    """A value for a file of the kernel, `*` in its path perhaps."""

    path: str
    value: str
    here_only: bool
    """It was read on this machine, or names its CPUs or devices."""

    @property
    def key(self) -> str:
        """As sysctl names it."""
        name = self.path.removeprefix(PROC_SYS)
        return name if "." in name else name.replace("/", ".")


def settings(apply: Apply, target: Target) -> tuple[list[Setting], list[str]]:
    """Give the writes outside of control groups, and why some are missing."""
    found, missing = list[Setting](), list[str]()
    for write in apply.write:
        if write.path.startswith("{cgroup."):
            continue
        if "{" not in write.value:
            found.append(Setting(write.path, write.value, any(part.isdigit() for part in write.path.split("/"))))
            continue
        try:
            found += [Setting(knob.path, knob.value, True) for knob in resolve([write], target.machine).knobs]
        except VgoError as error:
            missing.append(str(error).rstrip("."))
    return found, missing


def in_groups(apply: Apply) -> list[Write]:
    """Give the writes into the control group that the program runs in."""
    return [write for write in apply.write if write.path.startswith("{cgroup.")]


def cpus(spawn: Spawn, target: Target) -> str:
    """List the CPUs that the program may use, as `0,2,3`; empty for all."""
    kind = spawn.affinity or spawn.group.cpus
    if not kind:
        return ""
    return ",".join(map(str, sorted(chosen_cpus(kind, spawn.reserved_cpus, target.machine))))


def of_this_machine(spawn: Spawn, target: Target) -> Iterator[str]:
    """Say what has to be chosen again elsewhere."""
    if chosen := cpus(spawn, target):
        yield f"CPU {chosen} holds for this machine only: choose again on another, or after a change of its CPUs."
