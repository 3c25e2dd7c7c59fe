"""Can a mitigation be tried here? Pure: the machine was surveyed before."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

from ...knowledge.actions import Precondition, Spawn
from ...knowledge.errors import VgoError
from ...knowledge.loader import Knowledge, load
from ...knowledge.schema import REAL_TIME, Mitigation
from ..machine import Machine
from ..subject import Subject
from .parameters import chosen_cpus, with_values
from .run_group import CURE, LIMITS, controllers_of, limit_bytes

BUSY_WITH_ONE = 1.1
"""CPUs that a single-threaded program keeps busy at most: a helper thread may run now and then."""
_DEBIAN_PACKAGES = {
    "libjemalloc.so.2": "libjemalloc2",
    "libtcmalloc_minimal.so.4": "libtcmalloc-minimal4",
    "libmimalloc.so.2": "libmimalloc2.0",
    "mpirun": "openmpi-bin",
    "numactl": "numactl",
    "chrt": "util-linux",
    "prlimit": "util-linux",
    "setarch": "util-linux",
    "taskset": "util-linux",
}
_Check = Callable[[Precondition, Machine, Subject, float | None], Iterator[str]]


def dangers(
    mitigation: Mitigation, machine: Machine, subject: Subject | None, peak_bytes: float | None = None
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
    # It is for the main thread alone, so that such a program takes one CPU at most; their entries want a second one.
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


def unmet(condition: Precondition, machine: Machine, subject: Subject, busy_cpus: float | None) -> tuple[str, ...]:
    """Give one reason for each field that does not hold, each with what would make it so.

    `busy_cpus` is how many CPUs the program keeps busy, if others let it; None before it was profiled.
    """
    return tuple(reason for check in _CHECKS for reason in check(condition, machine, subject, busy_cpus))


def beyond_reach(
    mitigation: Mitigation, machine: Machine, subject: Subject | None = None, peak_bytes: float | None = None
) -> tuple[str, ...]:
    """Say why the tool cannot apply a mitigation, or must not, although it could be tried by hand.

    `peak_bytes` is the most memory that the program uses; None before it was profiled.
    """
    if mitigation.apply is None:
        return ()
    if machine.away:
        return (f"{machine.away}, and it would be applied here: apply it there by hand",)
    return dangers(mitigation, machine, subject, peak_bytes)


def _privilege(condition: Precondition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if condition.root and not machine.root:
        yield "it needs root: run vgo-agent as root"
    if condition.capability and condition.capability not in machine.capabilities:
        yield (
            f"it needs the capability {condition.capability.upper()}: run vgo-agent as root, in a container with "
            f"--cap-add {condition.capability.upper()}"
        )


def _hardware(condition: Precondition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if len(machine.cpus) < condition.min_cpus:
        yield (
            f"it needs {condition.min_cpus} CPUs and this process may use {len(machine.cpus)}: "
            "give it more (taskset, cpuset, a larger machine)"
        )
    if machine.numa_nodes < condition.min_numa_nodes:
        yield f"it needs {condition.min_numa_nodes} memory nodes and this machine has {machine.numa_nodes}"
    if condition.smt and not any(len(core) > 1 for core in machine.cores):
        yield "no core has two threads that this process may use (SMT is off, absent or not shown): leave it out"
    if condition.sensor and not machine.sensor:
        yield "no temperature can be read (/sys/class/thermal, /sys/class/hwmon): load the driver of the sensor"
    if condition.gpu and not machine.gpus:
        yield "NVML sees no GPU: install the NVIDIA driver and vgo-agent[gpu], or start the container with --gpus all"
    for controller in condition.group:
        if controller not in machine.groups:
            yield f"no control group with the controller {controller} can be made for the run: {CURE}"


def _virtual(condition: Precondition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if condition.bare_metal and machine.virtual:
        yield f"this is a virtual machine ({machine.virtual}), and only its host can do it: ask whoever runs that"
    if condition.virtual and not machine.virtual:
        yield "no hypervisor is seen, and it is for a virtual machine: leave it out"


def _scheduling(condition: Precondition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if condition.autogroup and not machine.autogroups:
        yield (
            "the kernel schedules by control group here, not by session: start vgo-agent in the top cpu control group, "
            "with kernel.sched_autogroup_enabled = 1"
        )


def _software(condition: Precondition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if condition.glibc and not machine.glibc:
        yield f"it needs glibc {condition.glibc}, and this C library is another one"
    elif condition.glibc and _version(machine.glibc) < _version(condition.glibc):
        yield f"it needs glibc {condition.glibc} and this is {machine.glibc}: use a newer distribution or container"
    if condition.library and condition.library not in machine.libraries:
        yield _missing(condition.library, machine)
    if condition.kernel and _version(machine.kernel) < _version(condition.kernel):
        yield f"it needs Linux {condition.kernel} and this is {machine.kernel}: boot a newer kernel"
    if condition.kernel_config in machine.kernel_lacks:
        yield f"the kernel is built without CONFIG_{condition.kernel_config}: boot one that has it"
    if condition.executable and condition.executable not in machine.executables:
        yield f"{condition.executable.replace('|', ' or ')} is not installed{_install(condition.executable)}"
    if condition.file and condition.file not in machine.files:
        file = condition.file.replace("|", " or ")
        yield f"{file} is not there or not writable: this kernel or container does not offer it"


def _program(condition: Precondition, machine: Machine, subject: Subject, _: float | None) -> Iterator[str]:
    if condition.dynamic and not machine.program_dynamic:
        linked = "statically linked, so no loader looks for libraries" if machine.program_static else "no ELF file"
        yield f"the program is {linked}: link it dynamically, so that the loader can be told"
    if condition.python and not machine.program_python:
        yield "the command runs no Python interpreter: name python in the command if it does"
    if condition.openmp and not machine.program_openmp:
        yield "the program links no OpenMP runtime (libgomp, libomp, libiomp5): compile it with -fopenmp if it should"
    if condition.mpi and not machine.program_mpi:
        yield "the command starts no MPI ranks that could be seen: name the launcher, as in --launcher mpirun:ranks=2"
    if condition.inputs and not subject.inputs:
        yield "no input file is known: name it with --input FILE"


def _threads(condition: Precondition, _: Machine, __: Subject, busy_cpus: float | None) -> Iterator[str]:
    if not (condition.single_threaded or condition.multi_threaded):
        return
    if busy_cpus is None:
        yield "it is not known how many CPUs the program keeps busy: profile it with the layer process"
    elif condition.single_threaded and busy_cpus > BUSY_WITH_ONE:
        yield f"the program keeps {busy_cpus:.1f} CPUs busy, and this is for one: run it with one thread"
    elif condition.multi_threaded and busy_cpus <= BUSY_WITH_ONE:
        yield f"the program keeps {busy_cpus:.1f} CPUs busy, and this is for several: run it with more threads"


_CHECKS: tuple[_Check, ...] = (_privilege, _hardware, _virtual, _scheduling, _software, _program, _threads)


def _missing(library: str, machine: Machine) -> str:
    if kind := machine.foreign_libraries.get(library):
        program = machine.program_machine or machine.architecture
        return f"{library} is here for {kind} only, and the program is {program}: install the package of that kind"
    return f"{library} is not installed{_install(library)}"


def _version(text: str) -> tuple[int, ...]:
    """Read the leading numbers: `6.1.0-28-amd64` is 6.1.0."""
    leading = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in leading.group().split(".")) if leading else ()


def _install(name: str) -> str:
    package = _DEBIAN_PACKAGES.get(name)
    return f" (Debian: apt install {package})" if package else ": install it and put it where the loader or PATH looks"


@functools.cache
def shipped() -> Knowledge:
    """All factors and mitigations that ship."""
    return load()
