"""Can a mitigation be tried here? Pure: the machine was surveyed before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...knowledge.actions import Condition
from ...knowledge.schema import Mitigation
from ..machine import Machine
from ..subject import Subject

BUSY_WITH_ONE = 1.1
"""CPUs that a single-threaded program keeps busy at most: a helper thread may run now and then."""

_DEBIAN_PACKAGES = {
    "libjemalloc.so.2": "libjemalloc2",
    "libtcmalloc_minimal.so.4": "libtcmalloc-minimal4",
    "libmimalloc.so.2": "libmimalloc2.0",
    "numactl": "numactl",
    "chrt": "util-linux",
    "prlimit": "util-linux",
    "setarch": "util-linux",
    "taskset": "util-linux",
}

_Check = Callable[[Condition, Machine, Subject, float | None], Iterator[str]]


def unmet(condition: Condition, machine: Machine, subject: Subject, busy_cpus: float | None) -> tuple[str, ...]:
    """Give one reason for each field that does not hold, each with what would make it so.

    `busy_cpus` is how many CPUs the program keeps busy (CPU time over wall time); None before it was profiled.
    """
    return tuple(reason for check in _CHECKS for reason in check(condition, machine, subject, busy_cpus))


def beyond_reach(mitigation: Mitigation, machine: Machine) -> tuple[str, ...]:
    """Say why the tool cannot apply a mitigation although it could be tried by hand."""
    if mitigation.apply is None or not machine.away:
        return ()
    return (f"{machine.away}, and it would be applied here: apply it there by hand",)


def _privilege(condition: Condition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if condition.root and not machine.root:
        yield "it needs root: run vgo-agent as root"


def _hardware(condition: Condition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if len(machine.cpus) < condition.min_cpus:
        yield (
            f"it needs {condition.min_cpus} CPUs and this process may use {len(machine.cpus)}: "
            "give it more (taskset, cpuset, a larger machine)"
        )
    if machine.numa_nodes < condition.min_numa_nodes:
        yield f"it needs {condition.min_numa_nodes} memory nodes and this machine has {machine.numa_nodes}"


def _software(condition: Condition, machine: Machine, _: Subject, __: float | None) -> Iterator[str]:
    if condition.glibc and not machine.glibc:
        yield f"it needs glibc {condition.glibc}, and this C library is another one"
    elif condition.glibc and _version(machine.glibc) < _version(condition.glibc):
        yield f"it needs glibc {condition.glibc} and this is {machine.glibc}: use a newer distribution or container"
    if condition.library and condition.library not in machine.libraries:
        yield f"{condition.library} is not installed{_install(condition.library)}"
    if condition.executable and condition.executable not in machine.executables:
        yield f"{condition.executable} is not installed{_install(condition.executable)}"
    if condition.file and condition.file not in machine.files:
        yield f"{condition.file} is not there or not writable: this kernel or container does not offer it"


def _program(condition: Condition, machine: Machine, subject: Subject, _: float | None) -> Iterator[str]:
    if condition.dynamic and not machine.program_dynamic:
        yield "the program is not dynamically linked: link it dynamically, so that the loader can be told"
    if condition.python and not machine.program_python:
        yield "the command runs no Python interpreter: name python in the command if it does"
    if condition.openmp and not machine.program_openmp:
        yield "the program links no OpenMP runtime (libgomp, libomp, libiomp5): compile it with -fopenmp if it should"
    if condition.inputs and not subject.inputs:
        yield "no input file is known: name it with --input FILE"


def _threads(condition: Condition, _: Machine, __: Subject, busy_cpus: float | None) -> Iterator[str]:
    if not (condition.single_threaded or condition.multi_threaded):
        return
    if busy_cpus is None:
        yield "it is not known how many CPUs the program keeps busy: profile it with the layer process"
    elif condition.single_threaded and busy_cpus > BUSY_WITH_ONE:
        yield f"the program keeps {busy_cpus:.1f} CPUs busy, and this is for one: run it with one thread"
    elif condition.multi_threaded and busy_cpus <= BUSY_WITH_ONE:
        yield f"the program keeps {busy_cpus:.1f} CPUs busy, and this is for several: run it with more threads"


_CHECKS: tuple[_Check, ...] = (_privilege, _hardware, _software, _program, _threads)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _install(name: str) -> str:
    package = _DEBIAN_PACKAGES.get(name)
    return f" (Debian: apt install {package})" if package else ": install it and put it where the loader or PATH looks"
