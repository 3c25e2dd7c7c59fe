"""From a mitigation to the launch that applies it."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ...knowledge.actions import Apply, Policy, ResourceLimits, Spawn
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..execution.launch import SCHED_DEADLINE, Launch, Scheduler
from ..machine import Machine
from ..subject import Subject
from .by_hand import IO_CLASSES, KEPT_ENVIRONMENT, added_variables, applicable
from .cpu_choice import chosen_cpus
from .parameters import with_values

_POLICIES: Mapping[Policy, int] = {
    "deadline": SCHED_DEADLINE,
    "fifo": os.SCHED_FIFO,
    "rr": os.SCHED_RR,
    "batch": os.SCHED_BATCH,
    "idle": os.SCHED_IDLE,
}
# Lists that the loader and glibc read from one variable: ours is added to what the user has.
_JOINED = {"LD_PRELOAD": ":", "GLIBC_TUNABLES": ":"}


def mitigated(launch: Launch, mitigation: Mitigation, subject: Subject, machine: Machine) -> Launch:
    """Change a launch as the mitigation says, the rest stays; what outlives a run is the engine's."""
    apply = applicable(with_values(mitigation, {}, machine))
    spawn = apply.spawn
    inputs = tuple(map(Path, subject.inputs))
    return replace(
        launch,
        argv=(*_wrapper(apply, launch.environment), *launch.argv),
        environment=_environment(launch.environment, apply),
        affinity=chosen_cpus(spawn.affinity, spawn.reserved_cpus, machine) if spawn.affinity else launch.affinity,
        scheduler=_scheduler(spawn) or launch.scheduler,
        autogroup_nice=launch.autogroup_nice if spawn.autogroup_nice is None else spawn.autogroup_nice,
        nice=launch.nice if spawn.nice is None else spawn.nice,
        timer_slack_ns=launch.timer_slack_ns if spawn.timer_slack_ns is None else spawn.timer_slack_ns,
        fixed_layout=launch.fixed_layout or spawn.fixed_layout,
        thp_disable=launch.thp_disable or spawn.thp_disable,
        io_class=IO_CLASSES[spawn.io_class] if spawn.io_class else launch.io_class,
        io_level=spawn.io_level if spawn.io_class else launch.io_level,
        limits={**launch.limits, **_limits(spawn.limits)},
        output=spawn.output or launch.output,
        sync=launch.sync or apply.sync_first,
        evict=inputs if apply.evict_inputs else launch.evict,
        prewarm=inputs if apply.prewarm_inputs else launch.prewarm,
    )


def _scheduler(spawn: Spawn) -> Scheduler | None:
    if spawn.policy is None:
        return None
    asked = spawn.deadline
    times = (asked.runtime_us * 1000, asked.period_us * 1000) if asked and spawn.policy == "deadline" else (0, 0)
    return Scheduler(_POLICIES[spawn.policy], spawn.priority, *times)


def _limits(limits: ResourceLimits) -> dict[int, int]:
    asked = {resource.RLIMIT_STACK: limits.stack, resource.RLIMIT_MEMLOCK: limits.memlock}
    return {limit: _bytes(value) for limit, value in asked.items() if value}


def _bytes(value: str) -> int:
    if value == "unlimited":
        return resource.RLIM_INFINITY
    if not value.isdigit():
        raise VgoError(f"{value!r} is no limit: give a number of bytes, or unlimited.")
    return int(value)


def _wrapper(apply: Apply, environment: Mapping[str, str]) -> tuple[str, ...]:
    if not apply.wrap:
        return ()
    program = shutil.which(apply.wrap[0], path=environment.get("PATH"))
    if program is None:
        raise VgoError(f"{apply.wrap[0]} is not on PATH: install it.")
    return (program, *apply.wrap[1:])


def _environment(base: Mapping[str, str], apply: Apply) -> dict[str, str]:
    kept = {name: base[name] for name in KEPT_ENVIRONMENT if name in base} if apply.clear_environment else dict(base)
    return with_variables(kept, added_variables(apply))


def with_variables(base: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Set variables; lists are joined with those that are there."""
    return {**base, **{name: _joined(name, value, base.get(name, "")) for name, value in added.items()}}


def _joined(name: str, value: str, before: str) -> str:
    """Put our entries before the user's: the loader takes the first definition it finds.

    A tunable that we set is taken out of the user's list, since which of two counts depends on the glibc version.
    """
    if name not in _JOINED or not before:
        return value
    separator = _JOINED[name]
    keys = {entry.partition("=")[0] for entry in value.split(separator)}
    others = [entry for entry in before.split(separator) if entry.partition("=")[0] not in keys]
    return separator.join((value, *others))
