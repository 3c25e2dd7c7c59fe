"""What is true in one simulated diagnosis: causes, what only seems to be one, cures, costs, and what goes wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ...knowledge.loader import Knowledge, load
from ...tools.case import Case
from ...tools.machine import GroupPlace, Machine
from ...tools.record import NO_FILES, Finished, Record, ToolError
from ...tools.results import LookUpResult
from ...tools.simulated import HEAVY, Lead, World, WorldKind, profiled
from ...tools.steps.look_up import LookUpArguments, run, uncounted
from ...tools.subject import Allow, Limits, Subject


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
    seen = Finished.of("c002", "profile", {}, profiled(("process",), (), 100, 1.0, busy_cpus, ""))
    return case_at(place, Limits(), Record((seen,), NO_FILES))


SHARES: dict[WorldKind, int] = {"cause": 62, "hidden": 14, "nothing": 12, "steady": 4, "unusable": 4, "distorted": 4}
ALLOWED: dict[Allow, int] = {"process": 60, "system": 30, "none": 10}
MEANT = {(0.15, 0.65): 45, (0.82, 0.96): 25, (1.0, 1.0): 25, (1.1, 1.8): 5}
"""Bounds of the true SD ratio of a mitigation of a cause to the share of those that have it."""
OTHERS = {(0.82, 0.96): 6, (1.0, 1.0): 84, (1.1, 1.8): 10}
HELPS = 0.8
"""A true SD ratio at or below it is a cure."""


@dataclass(frozen=True)
class DrawnWorld(World):
    """One on a machine of the list."""

    place: int
    """Among the machines."""

    @property
    def known(self) -> Knowledge:
        """The knowledge base that ships."""
        return known()

    def effect(self, mitigation: str) -> float:
        """Give the true ratio of SDs with a mitigation over without."""
        chance = random.Random(f"{self.seed}:effect:{mitigation}")
        meant = any(mitigation in known().factors[cause].mitigations for cause in self.causes)
        effects = MEANT if meant else OTHERS
        least, most = chance.choices(list(effects), list(effects.values()))[0]
        return chance.uniform(least, most)

    def case(self, record: Record) -> Case:
        """Give what a tool may look at there."""
        return case_at(self.place, self.limits, record)

    def looked_up(self, factor: str) -> LookUpResult:
        """Look a factor up there."""
        return looked_up(self.place, factor, self.busy_cpus)

    def without_counters(self) -> tuple[str, ...]:
        """Name the factors that no counter shows and that can be tried there."""
        return without_counters(self.place, self.busy_cpus)


def drawn(seed: int) -> DrawnWorld:
    """Draw a world."""
    chance = random.Random(f"world:{seed}")
    kind: WorldKind = chance.choices(list(SHARES), list(SHARES.values()))[0]
    limits = _limits(chance)
    causes = _causes(kind, chance)
    runs_paid = math.exp(chance.uniform(math.log(60 if kind == "unusable" else 300), math.log(20_000)))
    return DrawnWorld(
        seed=seed,
        kind=kind,
        place=chance.randrange(len(KINDS)),
        limits=limits,
        run_s=limits.budget_s / runs_paid,
        cv=chance.uniform(0.001, 0.009) if kind == "steady" else math.exp(chance.uniform(math.log(0.02), 0.3)),
        enough=chance.randint(5, 25) if kind == "unusable" else chance.randint(30, 400),
        noise=chance.uniform(1.0, 2.6),
        needed=chance.randint(15, 400),
        busy_cpus=chance.choice((1.0, 1.0, 1.0, 3.7)),
        clumsy=chance.choice((0.0, 0.0, 0.02, 0.15)),
        approves=chance.random() < 0.5,
        causes=causes,
        leads=tuple(_leads(kind, causes, limits, chance)),
        unseen=chance.choice((2, 5, 10, 20, 36)),
    )


@cache
def _counted() -> tuple[str, ...]:
    return tuple(key for key, factor in known().factors.items() if factor.signals)


@cache
def _uncounted() -> tuple[str, ...]:
    return tuple(key for key, factor in known().factors.items() if not factor.signals)


def _limits(chance: random.Random) -> Limits:
    return Limits(
        min_runs=chance.choice((30, 30, 30, 15)),
        max_runs=chance.choice((60, 120, 500, 500)),
        budget_s=chance.choice((30.0, 120.0, 600.0, 1800.0)),
        target_ratio=chance.choice((0.5, 0.66, 0.66, 0.66, 0.8)),
        max_mitigations=chance.choice((2, 4, 8, 8, 8, 12)),
        allow=chance.choices(list(ALLOWED), list(ALLOWED.values()))[0],
        seed=1,
        layers=chance.choice((("process",), ("process",), ("process", "memory", "interference", *HEAVY))),
    )


def _causes(kind: WorldKind, chance: random.Random) -> tuple[str, ...]:
    if kind == "hidden":
        return (chance.choice(_uncounted()),)
    # The more can be done about a factor, the more often it is met in practice.
    weights = [1 + 3 * len(known().factors[key].mitigations) for key in _counted()]
    many = chance.choice((1, 1, 1, 2)) if kind == "cause" else 0
    return tuple(dict.fromkeys(chance.choices(_counted(), weights, k=many)))


def _leads(kind: WorldKind, causes: Sequence[str], limits: Limits, chance: random.Random) -> Iterator[Lead]:
    """The causes themselves, what is taken for one of them, and what slow runs show less of."""
    heavy = HEAVY[0] in limits.layers and chance.random() < 0.5
    if kind == "cause":
        confused = [key for cause in causes for key in known().factors[cause].confused_with if key in _counted()]
        wrong = [chance.choice(confused or _counted()) for _ in range(chance.choice((0, 0, 1, 1, 2, 4)))]
        for factor in dict.fromkeys([*causes, *wrong]):
            yield _lead(factor, heavy, chance)
        if chance.random() < 0.08:
            yield _lead("app.queue_depth", heavy, chance)
    if chance.random() < 0.2:
        yield _lead(chance.choice(_counted()), heavy, chance, contrary=True)


def _lead(factor: str, heavy: bool, chance: random.Random, contrary: bool = False) -> Lead:
    away = chance.uniform(0.06, 0.49)
    p_value = 0.05 * 10 ** -chance.uniform(0, 4)
    return Lead(factor, contrary, heavy, 0.5 - away if contrary else 0.5 + away, p_value)
