"""What the writers of permanent settings share: what they write for, what they give, and how limits read."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...knowledge.actions import Apply, Gpu, ResourceLimits, Write
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..machine import Machine
from ..subject import Subject
from .by_hand import launchers
from .kernel_settings import KernelSetting, resolve
from .parameters import chosen_cpus
from .run_group import PERIOD_US

PROC_SYS = "/proc/sys/"
INPUT = "INPUT"
NO_FAN = "the driver takes the speed of a fan from NVML, and nvidia-smi has no option for it"
_AMOUNT = re.compile("([0-9]+)([kmgtpe]?)", re.IGNORECASE)
"""As the kernel reads one: 512M."""
UNNAMED = "Put the files that the program reads in the place of INPUT, or give its command after --."


class NoCpuLeft(VgoError):
    """This machine has too few CPUs to name those that the program would use."""


@dataclass(frozen=True)
class FormatLines:
    """Lines of one format, or why there are none."""

    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""
    path: str = ""
    """Where the lines belong, when not in the usual file of the format."""


class PermanentTarget(NamedTuple):
    """What is kept, where, and for what."""

    mitigation: Mitigation
    machine: Machine
    program: tuple[str, ...]
    root: Path
    """Where the files of the machine are."""

    @property
    def apply(self) -> Apply:
        """What it does."""
        return self.mitigation.apply or Apply()

    @property
    def subject(self) -> Subject:
        """The program, or a word that stands for it, with its inputs."""
        words = self.program or ("PROGRAM",)
        return Subject(command=words, argv=words, directory=".", inputs=self.inputs)

    @property
    def launchers(self) -> list[str]:
        """Programs before the command, for what starts it and has no option of its own.

        None sets a deadline: the kernel takes that only where a program may use all CPUs.
        """
        spawn = self.apply.spawn
        others = spawn.model_copy(update={"policy": None}) if spawn.policy == "deadline" else spawn
        return [*launchers(others), *map(shlex.quote, self.apply.wrap)]

    @property
    def command(self) -> str:
        """The program as a shell line, or a word that stands for it."""
        return shlex.join(self.program) or "PROGRAM"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arguments that are files, or a word that stands for them."""
        return tuple(os.path.abspath(word) for word in self.program[1:] if os.path.isfile(word)) or (INPUT,)

    @property
    def lacks_inputs(self) -> bool:
        """Tell whether the word stands for files that are to be read or dropped."""
        return (self.apply.prewarm_inputs or self.apply.evict_inputs) and self.inputs == (INPUT,)

    @property
    def cpus(self) -> str:
        """The CPUs that the program may use, as `0,2,3`; empty for all."""
        spawn = self.apply.spawn
        kind = spawn.affinity or spawn.group.cpus
        if not kind:
            return ""
        try:
            return ",".join(map(str, sorted(chosen_cpus(kind, spawn.reserved_cpus, self.machine))))
        except VgoError as error:
            here = len(self.machine.cpus)
            raise NoCpuLeft(f"it names CPUs, and this machine has {here} only: ask on the machine it is for") from error

    def of_this_machine(self) -> Iterator[str]:
        """Say what has to be chosen again elsewhere."""
        if chosen := self.cpus:
            yield f"CPU {chosen} holds for this machine only: choose again on another, or after a change of its CPUs."


def in_groups(apply: Apply) -> list[Write]:
    """Give the writes into the control group that the program runs in."""
    return [write for write in apply.write if write.path.startswith("{cgroup.")]


def settings(target: PermanentTarget) -> tuple[list[KernelSetting], list[str]]:
    """Give the writes outside of control groups, and why some are missing."""
    found, missing = list[KernelSetting](), list[str]()
    for write in target.apply.write:
        if write.path.startswith("{cgroup."):
            continue
        if "{" not in write.value:
            here_only = any(part.isdigit() for part in write.path.split("/"))
            found.append(KernelSetting(write.path, write.value, optional=write.optional, here_only=here_only))
            continue
        try:
            found += resolve([write], target.machine, target.root).knobs
        except VgoError:
            missing.append(f"{write.path} takes a value that is read on the machine it is for, not on this: ask there")
    return found, missing


def no_setting(apply: Apply) -> str:
    """Say what it changes, of what sets things at boot from a file."""
    if apply.hold:
        return "it holds a file open, so a process has to stay"
    if apply.gpu.fan_percent is not None:
        return NO_FAN
    if apply.gpu != Gpu():
        return "it sets the GPU through its driver"
    if in_groups(apply):
        return "it sets the control group of the program, which what starts the program makes"
    return "it changes no setting of the system, only how the program is started and what is done before"


def key_of(one: KernelSetting) -> str:
    """Name a setting as sysctl does."""
    name = one.path.removeprefix(PROC_SYS)
    return name if "." in name else name.replace("/", ".")


class GroupLimit(NamedTuple):
    """What the control group of a program is to have."""

    file: str
    """As version 2 calls it, where that has it."""
    number: float | None
    """CPUs of a quota, otherwise as in the file; None: no limit."""


def group_limits(apply: Apply) -> Iterator[GroupLimit]:
    """Give the limits of a group of its own, and those that are writes into the group elsewhere."""
    group = apply.spawn.group
    if group.cpu_weight is not None:
        yield GroupLimit("cpu.weight", group.cpu_weight)
    if group.swappiness is not None:
        yield GroupLimit("memory.swappiness", group.swappiness)
    if group.cpu_quota_us is not None:
        yield GroupLimit("cpu.max", int(group.cpu_quota_us) / PERIOD_US)
    if group.memory_bytes is not None:
        yield GroupLimit("memory.max", int(group.memory_bytes))
    for write in in_groups(apply):
        name = write.path.rpartition("/")[2]
        amount, _, period = write.value.partition(" ")
        read = _AMOUNT.fullmatch(amount)
        if not read and amount not in ("max", "-1"):
            continue  # it is read on the machine that it is for
        number = int(read[1]) << 10 * " kmgtpe".index(read[2].lower() or " ") if read else None
        if name in ("cpu.max", "cpu.cfs_quota_us"):
            yield GroupLimit("cpu.max", number and number / int(period or PERIOD_US))
        else:
            yield GroupLimit("memory.max" if name == "memory.limit_in_bytes" else name, number)


def resource_limits(limits: ResourceLimits) -> dict[str, str]:
    """Give the limits that are asked for, by the name that programs have for each."""
    asked = {"stack": limits.stack, "memlock": limits.memlock}
    return {name: value for name, value in asked.items() if value}


def quoted(word: str) -> str:
    """Quote a word as systemd.service(5) reads it: C escapes, and no specifier or variable."""
    if re.fullmatch(r"[\w@+=:,./-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace("%", "%%").replace("$", "$$")}"'
