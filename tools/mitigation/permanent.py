"""How to keep a mitigation for good: services, files and options of programs that set things at boot or at a start."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from ...knowledge.actions import Apply
from ...knowledge.schema import Keeper, Mitigation
from ..machine import Machine
from . import permanent_starter as starter
from . import permanent_system as system
from .by_hand import KEPT_ENVIRONMENT, THP_OFF, added_variables
from .permanent_draft import (
    UNNAMED,
    FormatLines,
    NoCpuLeft,
    PermanentTarget,
    group_limits,
    in_groups,
    no_setting,
    quoted,
    resource_limits,
    settings,
)
from .permanent_system import unit

SERVICE_NOTES = ("Then: systemctl daemon-reload, and restart the service.",)
_PROGRAMS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin")
_FOLDER = "vgo-agent-copy"
_MEMORY = f"%t/{_FOLDER}"
"""Below /run, which is memory."""
_GROUP_OPTIONS = {
    "cpu.weight": "CPUWeight",
    "memory.high": "MemoryHigh",
    "memory.max": "MemoryMax",
    "memory.swap.max": "MemorySwapMax",
}
EACH_RUN = "it waits before each run for the temperature of the first, which only what starts all the runs can see"
FORMATS: tuple[Keeper, ...] = get_args(Keeper)


def systemd(target: PermanentTarget) -> FormatLines:
    """Write a drop-in for a service."""
    apply = target.apply
    options = [*_service(target), *_before_service(target), *dict.fromkeys(_group_of_service(apply))]
    if words := _service_launchers(apply):
        command = map(quoted, target.program or ("PROGRAM",))
        options += ["ExecStart=", f"ExecStart={' '.join((*words, *command))}"]
    if options:
        return FormatLines(("[Service]", *options), tuple(_notes_of_service(target, "PROGRAM" in " ".join(options))))
    own = unit(target)
    if own.lines:
        return own
    if in_groups(apply):
        return FormatLines(why="systemd has no option for it")
    whole = any(settings(target))
    return FormatLines(why="it is a setting of the whole system" if whole else no_setting(apply))


def _service(target: PermanentTarget) -> Iterator[str]:
    apply, spawn = target.apply, target.apply.spawn
    realtime, limits = spawn.policy in ("fifo", "rr"), resource_limits(spawn.limits)
    said = {
        "CPUAffinity": target.cpus if spawn.affinity else None,
        "AllowedCPUs": target.cpus if spawn.group.cpus else None,
        "CPUSchedulingPolicy": spawn.policy if spawn.policy != "deadline" else None,
        "CPUSchedulingPriority": spawn.priority if realtime else None,
        "CPUSchedulingResetOnFork": "yes" if realtime else None,
        "Nice": spawn.nice,
        "IOSchedulingClass": spawn.io_class.replace("_", "-") if spawn.io_class else None,
        "IOSchedulingPriority": spawn.io_level if spawn.io_class in ("realtime", "best_effort") else None,
        "TimerSlackNSec": spawn.timer_slack_ns,
        **{f"Limit{name.upper()}": value.replace("unlimited", "infinity") for name, value in limits.items()},
        "StandardOutput": {"null": "null", "file": "truncate:/var/log/PROGRAM.out"}.get(spawn.output),
    }
    yield from (f"{option}={value}" for option, value in said.items() if value is not None)
    for name, value in ({} if apply.clear_environment else added_variables(apply)).items():
        escaped = f"{name}={value}".replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
        yield f'Environment="{escaped}"'
    if _interleaved(apply):
        yield from ("NUMAPolicy=interleave", "NUMAMask=all")


def _interleaved(apply: Apply) -> bool:
    """Options of numactl that systemd has; others stay a launcher."""
    return "--interleave=all" in apply.wrap


def _before_service(target: PermanentTarget) -> Iterator[str]:
    apply = target.apply
    if apply.tmpfs_directory:
        copy = f"ExecStartPre={_whole_path('cp')} -a DIRECTORY/. {_MEMORY}"
        yield from (f"RuntimeDirectory={_FOLDER}", f"WorkingDirectory={_MEMORY}", f"Environment=TMPDIR={_MEMORY}", copy)
    if apply.sync_first or apply.evict_inputs:
        yield f"ExecStartPre={_whole_path('sync')}"
    for file in target.inputs:
        read = f"ExecStartPre={_whole_path('dd')} {quoted(f'if={file}')}"
        if apply.evict_inputs:
            yield f"{read} iflag=nocache count=0 status=none"
        if apply.prewarm_inputs:
            yield f"{read} of=/dev/null bs=1M status=none"


def _group_of_service(apply: Apply) -> Iterator[str]:
    for file, number in group_limits(apply):
        if file == "cpu.max":
            yield f"CPUQuota={'' if number is None else f'{100 * number:g}%'}"
        elif file in _GROUP_OPTIONS:
            yield f"{_GROUP_OPTIONS[file]}={'infinity' if number is None else number}"
    if apply.spawn.autogroup_nice is not None and apply.spawn.group.cpu_weight is None:
        yield "CPUWeight=10000"


def _service_launchers(apply: Apply) -> list[str]:
    """Name the launchers for what a service cannot say."""
    spawn = apply.spawn
    found = [_whole_path("setarch"), "-R"] if spawn.fixed_layout else []
    if spawn.policy == "deadline" and spawn.deadline:
        runtime, period = spawn.deadline.runtime_us * 1000, spawn.deadline.period_us * 1000
        found += [_whole_path("chrt"), "-R", "-d", f"--sched-runtime={runtime}", f"--sched-period={period}", "0"]
    if apply.wrap and not _interleaved(apply):
        found += [_whole_path(apply.wrap[0]), *map(quoted, apply.wrap[1:])]
    if spawn.thp_disable:
        found += [_whole_path("python3"), "-c", quoted(THP_OFF)]
    if apply.clear_environment:
        kept = (f"{name}=${{{name}}}" for name in KEPT_ENVIRONMENT)
        added = (quoted(f"{name}={value}") for name, value in added_variables(apply).items())
        found += [_whole_path("env"), "-i", *kept, *added]
    return found


def _whole_path(name: str) -> str:
    """Find a program, for ExecStart= wants the whole path."""
    return shutil.which(name, path=os.pathsep.join(_PROGRAMS)) or f"/usr/bin/{name}"


def _notes_of_service(target: PermanentTarget, unnamed: bool) -> Iterator[str]:
    yield from (*SERVICE_NOTES, *target.of_this_machine())
    notes = {
        "Put the command of the service in the place of PROGRAM, or give it after --.": unnamed,
        UNNAMED: target.lacks_inputs,
        "Put its working directory in the place of DIRECTORY; what it writes there goes when it stops.": (
            target.apply.tmpfs_directory
        ),
        "A service has a control group of its own, where autogroups do not count: CPUWeight= does.": (
            target.apply.spawn.autogroup_nice is not None
        ),
    }
    yield from (note for note, holds in notes.items() if holds)


@dataclass(frozen=True)
class PermanentForm:
    """One way to keep it, or why it is none."""

    format: Keeper
    path: str
    """The file that the text belongs in; empty where it belongs in something of the user's."""
    text: str
    """Empty: this format has no way to say it."""
    notes: tuple[str, ...]
    """What to do with it, and what holds for this machine only."""
    why: str
    """Why there is no text."""


def permanent(
    mitigation: Mitigation,
    machine: Machine,
    program: Sequence[str] = (),
    notes: tuple[str, ...] = (),
    root: Path = Path("/"),
) -> tuple[PermanentForm, ...]:
    """Write a mitigation whose parameters have values in every format; `program` is what it is for.

    `notes` stand with every text; `root` is where the files of the machine are read.
    """
    target = PermanentTarget(mitigation, machine, tuple(program), root)
    return tuple(_kept(format, target, notes) for format in FORMATS)


def _kept(format: Keeper, target: PermanentTarget, notes: tuple[str, ...]) -> PermanentForm:
    mitigation = target.mitigation
    said = mitigation.permanent.get(format, "").strip()
    if mitigation.apply is None:
        draft = FormatLines(why="vgo-agent does not apply it; a person does it by its steps")
    elif mitigation.apply.cool_down:
        draft = FormatLines(why=EACH_RUN)
    else:
        draft = _drafted(format, target)
    if said:
        draft = _FORMATS[format].with_said(draft, said, target)
    if not draft.lines:
        return PermanentForm(format, "", "", draft.notes, draft.why or "it sets nothing of that kind")
    heading = f"# {mitigation.name} ({mitigation.key}), by vgo-agent mitigations --keep"
    first = ("#!/bin/sh",) if format in ("slurm", "shell") else ()
    notes = (*draft.notes, *notes)
    lines = (*first, heading, *(f"# {note}" for note in notes), *draft.lines)
    if format == "cmdline":
        lines = draft.lines
    path = draft.path or _FORMATS[format].path.format(
        dashed=mitigation.key.replace("_", "-"), unit=_unit(target.program)
    )
    return PermanentForm(format, path, "\n".join(lines) + "\n", notes, "")


def _drafted(format: Keeper, target: PermanentTarget) -> FormatLines:
    try:
        return _FORMATS[format].write(target)
    except NoCpuLeft as error:
        return FormatLines(why=str(error))


def _unit(program: Sequence[str]) -> str:
    """Name the unit that the program may have."""
    name = os.path.basename(program[0]).partition(".")[0] if program else ""
    return re.sub(r"[^A-Za-z0-9:_@-]", "-", name) or "UNIT"


def _appended(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    return FormatLines((*draft.lines, *said.splitlines()), draft.notes)


def _into_service(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """Words of the file are options of a service."""
    opening = () if draft.lines else ("[Service]",)
    return FormatLines((*draft.lines, *opening, *said.splitlines()), draft.notes or SERVICE_NOTES)


def _into_job(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """Options come before the first command, and a step starts the program."""
    lines = draft.lines or (f"srun {target.command}",)
    return FormatLines((*said.splitlines(), *lines), draft.notes)


def _on_the_line(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """The file knows the kernel's own word, which does more than a sysctl set late in the boot."""
    return FormatLines((" ".join(said.split()),), system.BOOT_NOTES)


def _into_profile(draft: FormatLines, said: str, target: PermanentTarget) -> FormatLines:
    """Join sections of the same name: TuneD wants each once."""
    sections: dict[str, list[str]] = {"[main]": [f"summary={target.mitigation.name}"]}
    for line in filter(None, (*draft.lines, "[main]", *said.splitlines())):
        if line.startswith("["):
            options = sections.setdefault(line, [])
        else:  # what the file says stands for what was derived
            name = line.partition("=")[0]
            options[:] = [*(one for one in options if one.partition("=")[0] != name), line]
    lines = [line for name, options in sections.items() for line in ("", name, *options)]
    return FormatLines(tuple(lines[1:]), draft.notes or system.PROFILE_NOTES)


class KeeperFormat(NamedTuple):
    """How one format is written."""

    write: Callable[[PermanentTarget], FormatLines]
    path: str = ""
    """The file that it belongs in; empty where that is the user's."""
    with_said: Callable[[FormatLines, str, PermanentTarget], FormatLines] = _appended
    """Adds what the file of the mitigation says for this format."""


_FORMATS: Mapping[Keeper, KeeperFormat] = {
    "systemd": KeeperFormat(systemd, "/etc/systemd/system/{unit}.service.d/50-vgo-agent-{dashed}.conf", _into_service),
    "slurm": KeeperFormat(starter.slurm, with_said=_into_job),
    "openmp": KeeperFormat(starter.openmp),
    "docker": KeeperFormat(starter.docker),
    "shell": KeeperFormat(starter.shell),
    "sysctl": KeeperFormat(system.sysctl, "/etc/sysctl.d/90-vgo-agent-{dashed}.conf"),
    "tmpfiles": KeeperFormat(system.tmpfiles, "/etc/tmpfiles.d/vgo-agent-{dashed}.conf"),
    "udev": KeeperFormat(system.udev, "/etc/udev/rules.d/90-vgo-agent-{dashed}.rules"),
    "tuned": KeeperFormat(system.tuned, "/etc/tuned/vgo-agent-{dashed}/tuned.conf", _into_profile),
    "cmdline": KeeperFormat(system.cmdline, with_said=_on_the_line),
}
