"""How a program is started, kept as a drop-in of its systemd service.

Options were looked up in systemd.exec(5), systemd.service(5) and systemd.resource-control(5) of systemd 252.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from ...knowledge.actions import Apply
from .by_hand import KEPT_ENVIRONMENT, THP_OFF, added_variables
from .permanent_draft import (
    UNNAMED,
    FormatLines,
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
