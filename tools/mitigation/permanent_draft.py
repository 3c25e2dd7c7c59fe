"""What the writers of permanent settings share."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...knowledge.actions import Apply, Gpu, Spawn, Write
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..machine import Machine
from .cpu_choice import chosen_cpus
from .knobs import resolve

PROC_SYS = "/proc/sys/"
INPUT = "INPUT"
PERIOD_US = 100_000
"""The usual period of a CPU quota."""
UNNAMED = "Put the files that the program reads in the place of INPUT, or name its command with --for."
PROGRAMS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin")
NO_FAN = "the driver takes the speed of a fan from NVML, and nvidia-smi has no option for it"


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

    @property
    def command(self) -> str:
        """The program as a shell line, or a word that stands for it."""
        return shlex.join(self.program) or "PROGRAM"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arguments that are files, or a word that stands for them."""
        return tuple(os.path.abspath(word) for word in self.program[1:] if os.path.isfile(word)) or (INPUT,)

    def lacks_inputs(self, apply: Apply) -> bool:
        """Tell whether the word stands for files that are to be read or dropped."""
        return (apply.prewarm_inputs or apply.evict_inputs) and self.inputs == (INPUT,)


class KernelSetting(NamedTuple):
    """A value for a file of the kernel, `*` in its path perhaps."""

    path: str
    value: str
    here_only: bool
    """It was read on this machine, or names its CPUs or devices."""
    optional: bool = False
    """A machine may lack it, or refuse."""

    @property
    def key(self) -> str:
        """As sysctl names it."""
        name = self.path.removeprefix(PROC_SYS)
        return name if "." in name else name.replace("/", ".")


def settings(apply: Apply, target: PermanentTarget) -> tuple[list[KernelSetting], list[str]]:
    """Give the writes outside of control groups, and why some are missing."""
    found, missing = list[KernelSetting](), list[str]()
    for write in apply.write:
        if write.path.startswith("{cgroup."):
            continue
        if "{" not in write.value:
            here_only = any(part.isdigit() for part in write.path.split("/"))
            found.append(KernelSetting(write.path, write.value, here_only, write.optional))
            continue
        try:
            knobs = resolve([write], target.machine).knobs
        except VgoError:
            missing.append(
                f"{write.path} takes a value that is read on the machine it is for, not on this: export it there"
            )
        else:
            found += [KernelSetting(knob.path, knob.value, True, write.optional) for knob in knobs]
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


def in_groups(apply: Apply) -> list[Write]:
    """Give the writes into the control group that the program runs in."""
    return [write for write in apply.write if write.path.startswith("{cgroup.")]


def cpus(spawn: Spawn, target: PermanentTarget) -> str:
    """List the CPUs that the program may use, as `0,2,3`; empty for all."""
    kind = spawn.affinity or spawn.group.cpus
    if not kind:
        return ""
    try:
        chosen = chosen_cpus(kind, spawn.reserved_cpus, target.machine)
    except VgoError as error:
        raise NoCpuLeft(
            f"it names CPUs, and this machine has {len(target.machine.cpus)} only: export it on the machine it is for"
        ) from error
    return ",".join(map(str, sorted(chosen)))


def of_this_machine(spawn: Spawn, target: PermanentTarget) -> Iterator[str]:
    """Say what has to be chosen again elsewhere."""
    if chosen := cpus(spawn, target):
        yield f"CPU {chosen} holds for this machine only: choose again on another, or after a change of its CPUs."


def quoted(word: str) -> str:
    """Quote a word as systemd.service(5) reads it: C escapes, and no specifier or variable."""
    if re.fullmatch(r"[\w@+=:,./-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace("%", "%%").replace("$", "$$")}"'


def whole_path(name: str) -> str:
    """Find a program, for ExecStart= wants the whole path."""
    return shutil.which(name, path=os.pathsep.join(PROGRAMS)) or f"/usr/bin/{name}"


_READ = re.compile(r"\{(?:(?P<which>max|min)|(?P<share>\d+)%):(?P<file>[\w./-]+)\}")
_CLOCK = re.compile(r"/sys/devices/system/cpu/cpufreq/policy\*/scaling_(max|min)_freq")
_HIGHEST = ("cpuinfo_max_freq", "scaling_max_freq")


def computed(apply: Apply) -> list[Write]:
    """Give the writes whose value a shell can read where it runs."""
    return [write for write in apply.write if write.path.startswith("/") and _READ.fullmatch(write.value)]


def computing(apply: Apply) -> Iterator[str]:
    """Give the shell commands that do them; they fail where the file is not there, unless the write is optional."""
    for write in computed(apply):
        read = _READ.fullmatch(write.value)
        if read is None:
            continue
        beside = read["file"] if read["file"].startswith("/") else f"${{knob%/*}}/{read['file']}"
        end = "head" if read["which"] == "min" else "tail"
        value = f"""$(tr -s '[:space:]' '\\n' < "{beside}" | grep . | sort -n | {end} -n 1)"""
        asked = f"$((found * {read['share']} / 100))" if read["share"] else "$found"
        refusing = " || :" if write.optional else " || exit"
        yield f'for knob in {write.path}; do found={value} && echo "{asked}" > "$knob"{refusing}; done'


def without_computed(apply: Apply) -> Apply:
    """Leave the other actions."""
    return apply.model_copy(update={"write": tuple(one for one in apply.write if one not in computed(apply))})


def performance(apply: Apply) -> Iterator[str]:
    """Give the options of TuneD's cpu plug-in for clocks that are a share of the highest one."""
    for write in computed(apply):
        clock, read = _CLOCK.fullmatch(write.path), _READ.fullmatch(write.value)
        if clock and read and read["file"] in _HIGHEST and read["which"] != "min":
            yield f"{clock[1]}_perf_pct={read['share'] or 100}"
