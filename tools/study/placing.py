"""Where the threads of a setting go: cores, places, environment."""

from __future__ import annotations

from collections.abc import Sequence

from .environment import StudyEnvironment
from .factors import FactorLevel
from .setting import Background, StudySetting
from .topology import Core

NUMBER, PLACES, PRELOAD = "OMP_NUM_THREADS", "OMP_PLACES", "LD_PRELOAD"


def placed(levels: Sequence[FactorLevel], count: int, here: StudyEnvironment) -> StudySetting:
    """Put the threads on `count` cores, or on fewer where the levels allow fewer; the setting has no name yet.

    Efficiency cores are left to the system first, then the first cores, since devices and services use those.
    """
    cores = here.topology.cores
    kind = next((level.kind for level in levels if level.kind), "")
    spanned = next((level.nodes for level in levels if level.nodes), "")
    deep = max(level.hardware_threads for level in levels)
    domain = [core for core in cores if not kind or core.kind == kind]
    if kind:
        count = len(domain)
    if spanned:
        domain, count = _on_nodes(domain, spanned, count)
    used = _used(domain, count) if spanned != "all" else _dealt(domain, count)
    threads = sum(min(deep, len(core.cpus)) for core in used)
    return StudySetting(
        name="?",
        environment=_environment(levels, used, domain, deep, threads, here),
        affinity=tuple(cpu for core in domain for cpu in core.cpus) if kind or spanned == "one" else (),
        program=next((level.program for level in levels if level.program), ""),
        background=_background(levels, used),
        cores=len(used),
        threads=threads,
        spare=len(cores) - len(used),
    )


def _environment(
    levels: Sequence[FactorLevel],
    used: Sequence[Core],
    domain: Sequence[Core],
    deep: int,
    threads: int,
    here: StudyEnvironment,
) -> dict[str, str]:
    environment = {NUMBER: str(threads)}
    for level in levels:
        environment |= level.environment
        if level.places:
            environment[PLACES] = _places(used if level.places == "packed" else domain, deep)
        if level.preload:
            environment[PRELOAD] = here.library(level.preload)
    return environment


def _places(cores: Sequence[Core], deep: int) -> str:
    return ",".join(f"{{{cpu}}}" for core in cores for cpu in core.cpus[:deep])


def _on_nodes(domain: Sequence[Core], spanned: str, count: int) -> tuple[list[Core], int]:
    """Take as many cores as the largest node has, or fewer where fewer are asked for; of that node, or of all."""
    nodes = sorted({core.node for core in domain})
    own = {node: [core for core in domain if core.node == node] for node in nodes}
    largest = max(nodes, key=lambda node: (len(own[node]), node))
    return own[largest] if spanned == "one" else list(domain), min(count, len(own[largest]))


def _used(domain: Sequence[Core], count: int) -> list[Core]:
    left_first = sorted(domain, key=lambda core: (core.kind == "P", core.cpus))
    used = set(left_first[len(left_first) - min(count, len(left_first)) :])
    return [core for core in domain if core in used]


def _dealt(domain: Sequence[Core], count: int) -> list[Core]:
    """Take cores from all nodes in turn."""
    nodes = sorted({core.node for core in domain})
    ranked = [
        (place, node, core)
        for node in nodes
        for place, core in enumerate([core for core in domain if core.node == node][::-1])
    ]
    chosen = {core for _, _, core in sorted(ranked, key=lambda one: one[:2])[:count]}
    return [core for core in domain if core in chosen]


def _background(levels: Sequence[FactorLevel], used: Sequence[Core]) -> Background | None:
    level = next((level for level in levels if level.background), None)
    if level is None:
        return None
    siblings = tuple(cpu for core in used for cpu in core.cpus[1:]) if level.background == "siblings" else ()
    return Background(work=level.work, cpus=siblings)
