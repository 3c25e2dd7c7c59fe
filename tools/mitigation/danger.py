"""What would hang the machine, end the user's session, or take the outcome away: refused, with the cure."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge.actions import Spawn
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ..machine import Machine
from ..subject import Subject
from .cpu_choice import chosen_cpus
from .memory_limit import LIMITS, limit_bytes
from .parameters import with_values
from .run_group import controllers_of

REAL_TIME = ("fifo", "rr", "deadline")
"""Of the main thread alone, so that such a program takes one CPU at most; their entries want a second one."""


def dangers(
    mitigation: Mitigation,
    machine: Machine,
    subject: Subject | None,
    peak_bytes: float | None = None,
) -> tuple[str, ...]:
    """Give one reason for each thing that must not be done here; empty when it may be applied.

    `peak_bytes` is the most memory that the program has used; None: not known.
    """
    if mitigation.apply is None:
        return ()
    try:
        apply = with_values(mitigation, {}, machine).apply or mitigation.apply
        cpus = _cpus(apply.spawn, machine)
    except VgoError as refused:
        return (str(refused).rstrip("."),)
    reasons = [*_outside(cpus, machine), *_real_time(apply.spawn, cpus, machine)]
    if apply.spawn.output == "null" and subject and (subject.metric or subject.per_iteration):
        reasons.append(
            "the outcome is read from standard output, which would go to /dev/null: measure wall time instead"
        )
    for write in apply.write:
        reasons += _starving(write.path, write.value, peak_bytes)
    return tuple(reasons)


def _cpus(spawn: Spawn, machine: Machine) -> frozenset[int]:
    cpus = frozenset(machine.cpus)
    for kind in (spawn.affinity, spawn.group.cpus):
        if kind:
            cpus &= chosen_cpus(kind, spawn.reserved_cpus, machine)
    return cpus


def _outside(cpus: frozenset[int], machine: Machine) -> Iterator[str]:
    if not cpus:
        allowed = ",".join(map(str, machine.cpus))
        yield f"it would leave the program none of the CPUs that this process may use ({allowed}): reserve fewer"


def _real_time(spawn: Spawn, cpus: frozenset[int], machine: Machine) -> Iterator[str]:
    if spawn.policy not in REAL_TIME:
        return
    there = machine.online or len(machine.cpus)
    everywhere = len(cpus) >= there
    if spawn.policy == "deadline":
        if not everywhere:
            yield f"the kernel takes no deadline task that may use only {len(cpus)} of {there} CPUs: let it use all"
        return
    if everywhere and not machine.real_time_throttled:
        yield (
            "real-time throttling is off, so that a program that spins would hold its CPU for good: write 950000 to "
            "/proc/sys/kernel/sched_rt_runtime_us, or leave a CPU (taskset before vgo-agent)"
        )
    if machine.group_without_real_time:
        yield (
            f"{machine.group_without_real_time}/cpu.rt_runtime_us is 0, so that the kernel refuses {spawn.policy} "
            "there: start vgo-agent in another cpu control group, or write 950000 there"
        )
    elif machine.real_time_by_group and "cpu" in controllers_of(spawn.group):
        yield f"this kernel grants a new cpu control group no real-time and refuses {spawn.policy} in it: take one"


def _starving(path: str, value: str, peak_bytes: float | None) -> Iterator[str]:
    if path.rpartition("/")[2] not in LIMITS or peak_bytes is None:
        return
    limit = limit_bytes(value)
    if limit is not None and limit < peak_bytes:
        used, most = peak_bytes / 1e6, limit / 1e6
        yield f"the program has used {used:.0f} MB, and a limit of {most:.0f} MB would kill it: raise it"
