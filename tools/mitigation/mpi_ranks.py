"""Where the ranks of an MPI program may run, read of every rank itself: what a launcher was told proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .kernel_file import cpu_list
from .program import Process, ProcessObservation

RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
"""Variables by which Open MPI, MPICH and Slurm tell a process its rank."""
ON_HOST = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
"""And how many ranks its host has."""
_PARENT = 4
"""The field of /proc/PID/stat."""
Cpus = frozenset[int]
INCOMPLETE = "not every MPI rank was there"


def of_ranks(asked: str, affinity: Cpus | None, process: Process) -> ProcessObservation:
    """Hold the CPUs that each rank on this machine may use against what is asked for.

    apart: no CPU is of two ranks; numa: each rank stays on one memory node; free: all that their launcher may use;
    within: none but those of `affinity`. `process` is the launcher, a script around it, or a rank.
    """
    if not process.folder.exists():
        raise ProcessLookupError(process.pid)
    top = Process(process.stat(_PARENT), process.proc) if _rank(process) is not None else process
    found: dict[int, Cpus] = {}
    expected = 1
    for member in top.family():
        rank = _rank(member)
        if rank is not None and rank not in found:
            found[rank] = frozenset(cpu_list(member.status("Cpus_allowed_list")))
            expected = max(expected, _number(_variables(member), ON_HOST) or 1)
    words, holds = _ASKED[asked]
    if len(found) < expected:
        return ProcessObservation(words, f"{INCOMPLETE} ({len(found)} of {expected})", False)
    seen = ", ".join(f"rank {rank}: {_spelt(cpus)}" for rank, cpus in sorted(found.items()))
    return ProcessObservation(words, seen, holds(found, affinity, top))


def _rank(process: Process) -> int | None:
    return _number(_variables(process), RANK)


def _variables(process: Process) -> Mapping[str, str]:
    try:
        return process.environment()
    except (PermissionError, ProcessLookupError, FileNotFoundError):  # of another user, before exec, or ended
        return {}


def _number(variables: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((int(variables[name]) for name in names if variables.get(name, "").isdigit()), None)


def _spelt(cpus: Cpus) -> str:
    return ",".join(map(str, sorted(cpus)))


def _apart(found: Mapping[int, Cpus], _: Cpus | None, __: Process) -> bool:
    return sum(map(len, found.values())) == len(frozenset().union(*found.values()))


def _on_one_node(found: Mapping[int, Cpus], _: Cpus | None, top: Process) -> bool:
    lists = (top.proc.parent / "sys/devices/system/node").glob("node[0-9]*/cpulist")
    nodes = [frozenset(cpu_list(path.read_text())) for path in lists]
    return all(any(cpus <= node for node in nodes) for cpus in found.values())


def _free(found: Mapping[int, Cpus], _: Cpus | None, top: Process) -> bool:
    own = frozenset(cpu_list(top.status("Cpus_allowed_list")))
    return all(cpus >= own for cpus in found.values())


def _within(found: Mapping[int, Cpus], affinity: Cpus | None, _: Process) -> bool:
    return affinity is not None and all(cpus <= affinity for cpus in found.values())


_ASKED: Mapping[str, tuple[str, Callable[[Mapping[int, Cpus], Cpus | None, Process], bool]]] = {
    "apart": ("no CPU is of two ranks", _apart),
    "numa": ("each rank on one memory node", _on_one_node),
    "free": ("every rank may use all CPUs of its launcher", _free),
    "within": ("no rank on a CPU that is left to the system", _within),
}
