"""Where simulated diagnoses happen: machines and programs, which decide what mitigations can be tried there."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ...knowledge.loader import Knowledge, load
from ...tools.base import ToolError
from ...tools.case import NO_FILES, Case, Finished, Record
from ...tools.look_up import LookUpArguments, LookUpResult, run, uncounted
from ...tools.machine import GroupPlace, Machine
from ...tools.simulated import profiled
from ...tools.subject import Limits, Subject
from .made import Made


class MachineKind(NamedTuple):
    """One kind of machine, with the program that runs on it."""

    cpus: int
    nodes: int = 1
    smt: bool = False
    root: bool = False
    virtual: str = ""
    gpus: int = 0
    share: float = 0.5
    """Of the files, libraries and programs that mitigations ask for, what is there."""
    python: bool = False
    openmp: bool = False
    inputs: tuple[str, ...] = ()
    limited: bool = False


KINDS = (
    MachineKind(cpus=8, smt=True, share=0.6, inputs=("/data/input",)),
    MachineKind(cpus=2, root=True, virtual="KVM", share=0.9, python=True),
    MachineKind(cpus=4, virtual="KVM", share=0.2, limited=True),
    MachineKind(cpus=64, nodes=2, smt=True, root=True, share=0.9, openmp=True, inputs=("/data/input",)),
    MachineKind(cpus=32, nodes=4, share=0.5, openmp=True),
    MachineKind(cpus=16, root=True, gpus=1, share=0.8, python=True, inputs=("/data/input",)),
    MachineKind(cpus=1, virtual="KVM", share=0.1),
)


@cache
def known() -> Knowledge:
    """Read the knowledge base once."""
    return load()


@cache
def machine(place: int) -> Machine:
    """Make one of the machines; the same on every host."""
    kind, chance = KINDS[place], random.Random(f"place:{place}")

    def there(asked: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in sorted(set(asked) - {""}) if chance.random() < kind.share)

    conditions = [mitigation.applies for mitigation in known().mitigations.values()]
    cpus = tuple(range(kind.cpus))
    group = GroupPlace(folder="/sys/fs/cgroup", version=2)
    return Machine(
        architecture="x86_64",
        kernel="6.1.0",
        glibc="2.36",
        cpus=cpus,
        cores=tuple((cpu, cpu + 1) for cpu in cpus[::2]) if kind.smt else tuple((cpu,) for cpu in cpus),
        online=kind.cpus,
        groups=dict.fromkeys(("cpu", "cpuset", "memory"), group) if kind.root else {},
        limited=("cpu", "memory") if kind.limited else (),
        sensor=not kind.virtual,
        gpus=kind.gpus,
        numa_nodes=kind.nodes,
        memory_bytes=2**34,
        root=kind.root,
        capabilities=("ipc_lock", "sys_nice", "sys_resource") if kind.root else (),
        virtual=kind.virtual,
        libraries=there(condition.library for condition in conditions),
        executables=there(condition.executable for condition in conditions),
        files=there(condition.file for condition in conditions),
        program_dynamic=True,
        program_python=kind.python,
        program_openmp=kind.openmp,
    )


@cache
def subject(place: int) -> Subject:
    """Make the program that runs there."""
    return Subject(command=("./program",), argv=("/bin/true",), directory="/", inputs=KINDS[place].inputs)


def case_at(place: int, limits: Limits, record: Record) -> Case:
    """Make what a tool may look at."""
    return Case("c000", subject(place), limits, machine(place), known(), record)


@cache
def looked_up(place: int, factor: str, busy_cpus: float) -> LookUpResult:
    """Look a factor up with the real tool; what no entry lists is not searched for, since that takes seconds."""
    if factor not in known().factors:
        raise ToolError(f"The knowledge base has nothing on {factor}.")
    result = run(LookUpArguments(factor=factor), _profiled_at(place, busy_cpus)).result
    assert isinstance(result, LookUpResult)
    return result


@cache
def without_counters(place: int, busy_cpus: float) -> tuple[str, ...]:
    """Name the factors that no counter shows and that can be tried there, by the real tool."""
    return uncounted(_profiled_at(place, busy_cpus))


def _profiled_at(place: int, busy_cpus: float) -> Case:
    seen: Finished = Made.of("c002", "profile", {}, profiled(("process",), (), 100, 1.0, busy_cpus, ""))
    return case_at(place, Limits(), Record((seen,), NO_FILES))
