"""Which CPUs a run may use: those of a list, a quiet one, one a core, or all but a few that everybody else keeps."""

from __future__ import annotations

from ...knowledge.errors import VgoError
from ..machine import Machine
from .kernel_file import cpu_list


def chosen_cpus(kind: str, reserved: str, machine: Machine) -> frozenset[int]:
    """Choose among the CPUs that this process may use."""
    if kind == "one_cpu":
        return frozenset({machine.quiet_cpu})
    if kind == "one_per_core":
        return frozenset(min(core) for core in machine.cores) or frozenset(machine.cpus)
    if kind == "all_but_reserved":
        return frozenset(machine.cpus) - frozenset(reserved_cpus(reserved, machine))
    cpus = frozenset(cpu_list(kind))
    if not cpus or not cpus <= set(machine.cpus):
        allowed = ",".join(map(str, machine.cpus))
        raise VgoError(f"The CPUs {kind} are not among those that this process may use: {allowed}.")
    return cpus


def reserved_cpus(asked: str, machine: Machine) -> tuple[int, ...]:
    """Leave the first CPUs to everybody else, since devices and services tend to use those; the quiet one goes last."""
    if not asked.isdigit():
        raise VgoError(f"{asked} CPUs cannot be left to others: give a whole number.")
    most = len(machine.cpus) - 1
    if int(asked) > most:
        leave = f"leave {most} at most" if most else "give it more CPUs (taskset, cpuset, a larger machine)"
        raise VgoError(f"Of {most + 1} CPUs {asked} left to others would leave none to the program: {leave}.")
    return tuple(sorted(machine.cpus, key=lambda cpu: (cpu == machine.quiet_cpu, cpu))[: int(asked)])
