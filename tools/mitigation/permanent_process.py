"""How a program is started, kept as a drop-in of its systemd service.

Options were looked up in systemd.exec(5), systemd.service(5) and systemd.resource-control(5) of systemd 252.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from ...knowledge.actions import Apply
from .by_hand import added_variables
from .permanent_draft import Draft, Target, cpus, in_groups, of_this_machine
from .permanent_system import SERVICE_NOTES

OF_THE_SYSTEM = "it is a setting of the whole system: use sysctl, tmpfiles or tuned"
_POLICIES_OF_SYSTEMD = ("fifo", "rr", "batch", "idle")
_GROUP_OPTIONS = {
    "cpu.weight": "CPUWeight",
    "memory.high": "MemoryHigh",
    "memory.max": "MemoryMax",
    "memory.swap.max": "MemorySwapMax",
    "memory.limit_in_bytes": "MemoryMax",
}


def systemd(apply: Apply, target: Target) -> Draft:
    """Write a drop-in for a service."""
    options = [*_service(apply, target), *_grouped(apply)]
    launchers = _without_option(apply)
    if launchers:
        command = map(_quoted, target.program or ("PROGRAM",))
        options += ["ExecStart=", f"ExecStart={' '.join((*launchers, *command))}"]
    if not options:
        return Draft(why=OF_THE_SYSTEM if apply.write else "systemd has no option for it")
    notes = [*SERVICE_NOTES, *of_this_machine(apply.spawn, target)]
    if launchers and not target.program:
        notes.append("Put the command of the service in the place of PROGRAM, or name it with --for.")
    if apply.spawn.autogroup_nice is not None:
        notes.append("A service has a control group of its own, where autogroups do not count: CPUWeight= does.")
    return Draft(("[Service]", *options), tuple(notes))


def _service(apply: Apply, target: Target) -> Iterator[str]:
    spawn = apply.spawn
    realtime = spawn.policy in ("fifo", "rr")
    said = {
        "CPUAffinity": cpus(spawn, target) if spawn.affinity else None,
        "AllowedCPUs": cpus(spawn, target) if spawn.group.cpus else None,
        "CPUSchedulingPolicy": spawn.policy if spawn.policy in _POLICIES_OF_SYSTEMD else None,
        "CPUSchedulingPriority": spawn.priority if realtime else None,
        "Nice": spawn.nice,
        "IOSchedulingClass": spawn.io_class.replace("_", "-") if spawn.io_class else None,
        "IOSchedulingPriority": spawn.io_level if spawn.io_class in ("realtime", "best_effort") else None,
        "TimerSlackNSec": spawn.timer_slack_ns,
        "LimitSTACK": _limit(spawn.limits.stack),
        "LimitMEMLOCK": _limit(spawn.limits.memlock),
        "StandardOutput": {"null": "null", "file": "truncate:/var/log/PROGRAM.out"}.get(spawn.output),
        "ExecStartPre": _found("sync") if apply.sync_first else None,
    }
    yield from (f"{option}={value}" for option, value in said.items() if value is not None)
    for name, value in added_variables(apply).items():
        escaped = f"{name}={value}".replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
        yield f'Environment="{escaped}"'
    yield from _memory_nodes(apply)


def _limit(limit: str) -> str | None:
    return "infinity" if limit == "unlimited" else limit or None


def _memory_nodes(apply: Apply) -> Iterator[str]:
    """Turn options of numactl into those of systemd; others stay a launcher."""
    if "--interleave=all" in apply.wrap:
        yield from ("NUMAPolicy=interleave", "NUMAMask=all")


def _grouped(apply: Apply) -> Iterator[str]:
    group = apply.spawn.group
    if group.cpu_weight is not None:
        yield f"CPUWeight={group.cpu_weight}"
    elif apply.spawn.autogroup_nice is not None:
        yield "CPUWeight=10000"
    for write in in_groups(apply):
        name = write.path.rpartition("/")[2]
        if name in _GROUP_OPTIONS:
            value = "infinity" if write.value in ("max", "-1") else write.value
            yield f"{_GROUP_OPTIONS[name]}={value}"
        elif name in ("cpu.max", "cpu.cfs_quota_us"):
            yield f"CPUQuota={_quota(write.value)}"


def _quota(value: str) -> str:
    """Turn `max`, `-1` or `quota period` into a percentage of one CPU; empty means no limit."""
    quota, _, period = value.partition(" ")
    return f"{100 * int(quota) // int(period or 100_000)}%" if quota.isdigit() else ""


def _without_option(apply: Apply) -> list[str]:
    """Name the launchers for what a service cannot say."""
    spawn = apply.spawn
    found = [_found("setarch"), "-R"] if spawn.fixed_layout else []
    if spawn.policy == "deadline" and spawn.deadline:
        runtime, period = spawn.deadline.runtime_us * 1000, spawn.deadline.period_us * 1000
        found += [_found("chrt"), "-d", f"--sched-runtime={runtime}", f"--sched-period={period}", "0"]
    if apply.wrap and not list(_memory_nodes(apply)):
        found += [_found(apply.wrap[0]), *map(_quoted, apply.wrap[1:])]
    return found


def _quoted(word: str) -> str:
    """Quote a word as systemd.service(5) reads it: C escapes, and no specifier or variable."""
    if re.fullmatch(r"[\w@+=:,./-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace("%", "%%").replace("$", "$$")}"'


def _found(name: str) -> str:
    """Give the whole path, which ExecStart= wants."""
    return shutil.which(name) or f"/usr/bin/{name}"
