"""How a program is started, kept as a drop-in of its systemd service.

Options were looked up in systemd.exec(5), systemd.service(5) and systemd.resource-control(5) of systemd 252.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.actions import Apply
from .by_hand import KEPT_ENVIRONMENT, THP_OFF, added_variables
from .permanent_draft import (
    PERIOD_US,
    UNNAMED,
    FormatLines,
    PermanentTarget,
    cpus,
    in_groups,
    no_setting,
    of_this_machine,
    quoted,
    settings,
    whole_path,
)
from .permanent_system import SERVICE_NOTES, unit

OF_THE_SYSTEM = "it is a setting of the whole system"
FOLDER = "vgo-agent-copy"
MEMORY = f"%t/{FOLDER}"
"""Below /run, which is memory."""
_POLICIES_OF_SYSTEMD = ("fifo", "rr", "batch", "idle")
_GROUP_OPTIONS = {
    "cpu.weight": "CPUWeight",
    "memory.high": "MemoryHigh",
    "memory.max": "MemoryMax",
    "memory.swap.max": "MemorySwapMax",
    "memory.limit_in_bytes": "MemoryMax",
}


def systemd(apply: Apply, target: PermanentTarget) -> FormatLines:
    """Write a drop-in for a service."""
    options = [*_service(apply, target), *_before(apply, target), *dict.fromkeys(_grouped(apply))]
    launchers = _without_option(apply)
    if launchers:
        command = map(quoted, target.program or ("PROGRAM",))
        options += ["ExecStart=", f"ExecStart={' '.join((*launchers, *command))}"]
    if not options:
        own = unit(apply, target)
        return own if own.lines else FormatLines(why=_not_of_systemd(apply, target))
    return FormatLines(("[Service]", *options), tuple(_notes(apply, target, "PROGRAM" in " ".join(options))))


def _not_of_systemd(apply: Apply, target: PermanentTarget) -> str:
    if in_groups(apply):
        return "systemd has no option for it"
    return OF_THE_SYSTEM if any(settings(apply, target)) else no_setting(apply)


def _notes(apply: Apply, target: PermanentTarget, unnamed: bool) -> Iterator[str]:
    yield from (*SERVICE_NOTES, *of_this_machine(apply.spawn, target))
    if unnamed:
        yield "Put the command of the service in the place of PROGRAM, or name it with --for."
    if target.lacks_inputs(apply):
        yield UNNAMED
    if apply.tmpfs_directory:
        yield "Put its working directory in the place of DIRECTORY; what it writes there goes when it stops."
    if apply.spawn.autogroup_nice is not None:
        yield "A service has a control group of its own, where autogroups do not count: CPUWeight= does."


def _service(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    spawn = apply.spawn
    realtime = spawn.policy in ("fifo", "rr")
    said = {
        "CPUAffinity": cpus(spawn, target) if spawn.affinity else None,
        "AllowedCPUs": cpus(spawn, target) if spawn.group.cpus else None,
        "CPUSchedulingPolicy": spawn.policy if spawn.policy in _POLICIES_OF_SYSTEMD else None,
        "CPUSchedulingPriority": spawn.priority if realtime else None,
        "CPUSchedulingResetOnFork": "yes" if realtime else None,
        "Nice": spawn.nice,
        "IOSchedulingClass": spawn.io_class.replace("_", "-") if spawn.io_class else None,
        "IOSchedulingPriority": spawn.io_level if spawn.io_class in ("realtime", "best_effort") else None,
        "TimerSlackNSec": spawn.timer_slack_ns,
        "LimitSTACK": _limit(spawn.limits.stack),
        "LimitMEMLOCK": _limit(spawn.limits.memlock),
        "StandardOutput": {"null": "null", "file": "truncate:/var/log/PROGRAM.out"}.get(spawn.output),
    }
    yield from (f"{option}={value}" for option, value in said.items() if value is not None)
    variables = {} if apply.clear_environment else added_variables(apply)
    for name, value in variables.items():
        escaped = f"{name}={value}".replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
        yield f'Environment="{escaped}"'
    yield from _memory_nodes(apply)


def _before(apply: Apply, target: PermanentTarget) -> Iterator[str]:
    if apply.tmpfs_directory:
        copy = f"ExecStartPre={whole_path('cp')} -a DIRECTORY/. {MEMORY}"
        yield from (f"RuntimeDirectory={FOLDER}", f"WorkingDirectory={MEMORY}", f"Environment=TMPDIR={MEMORY}", copy)
    if apply.sync_first or apply.evict_inputs:
        yield f"ExecStartPre={whole_path('sync')}"
    for file in target.inputs:
        if apply.evict_inputs:
            yield f"ExecStartPre={whole_path('dd')} {quoted(f'if={file}')} iflag=nocache count=0 status=none"
        if apply.prewarm_inputs:
            yield f"ExecStartPre={whole_path('dd')} {quoted(f'if={file}')} of=/dev/null bs=1M status=none"


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
    if group.cpu_quota_us is not None:
        yield f"CPUQuota={group.cpu_quota_us / 1000:g}%"
    if group.memory_bytes is not None:
        yield f"MemoryMax={group.memory_bytes}"
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
    return f"{100 * int(quota) // int(period or PERIOD_US)}%" if quota.isdigit() else ""


def _without_option(apply: Apply) -> list[str]:
    """Name the launchers for what a service cannot say."""
    spawn = apply.spawn
    found = [whole_path("setarch"), "-R"] if spawn.fixed_layout else []
    if spawn.policy == "deadline" and spawn.deadline:
        runtime, period = spawn.deadline.runtime_us * 1000, spawn.deadline.period_us * 1000
        found += [whole_path("chrt"), "-R", "-d", f"--sched-runtime={runtime}", f"--sched-period={period}", "0"]
    if apply.wrap and not list(_memory_nodes(apply)):
        found += [whole_path(apply.wrap[0]), *map(quoted, apply.wrap[1:])]
    if spawn.thp_disable:
        found += [whole_path("python3"), "-c", quoted(THP_OFF)]
    if apply.clear_environment:
        kept = (f"{name}=${{{name}}}" for name in KEPT_ENVIRONMENT)
        added = (quoted(f"{name}={value}") for name, value in added_variables(apply).items())
        found += [whole_path("env"), "-i", *kept, *added]
    return found
