"""Fake /sys trees of machines that this one is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def tree(
    root: Path,
    cores: Sequence[Sequence[int]],
    nodes: Mapping[int, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    capacity: Mapping[int, int] | None = None,
) -> Path:
    """Write `cores` (the CPUs of each), the CPU list of each memory node, and which CPUs are of which kind."""
    cpus = root / "sys/devices/system/cpu"
    everything = sorted(cpu for core in cores for cpu in core)
    _write(cpus / "online", ",".join(map(str, everything)))
    for core in cores:
        for cpu in core:
            _write(cpus / f"cpu{cpu}/topology/thread_siblings_list", ",".join(map(str, core)))
    for cpu, value in (capacity or {}).items():
        _write(cpus / f"cpu{cpu}/cpu_capacity", str(value))
    for node, said in (nodes or {0: ",".join(map(str, everything))}).items():
        _write(root / f"sys/devices/system/node/node{node}/cpulist", said)
    for kind, said in (kinds or {}).items():
        _write(root / f"sys/devices/cpu_{kind}/cpus", said)
    (root / "proc").mkdir(exist_ok=True, parents=True)
    return root


def smt(root: Path, cores: int) -> Path:
    """Cores with two hardware threads each, numbered as Linux does on x86."""
    return tree(root, [(core, core + cores) for core in range(cores)])


def two_nodes(root: Path, cores: int) -> Path:
    """Cores without SMT, the first half on one node."""
    half = cores // 2
    return tree(root, [(core,) for core in range(cores)], {0: f"0-{half - 1}", 1: f"{half}-{cores - 1}"})


def hybrid(root: Path, strong: int, weak: int) -> Path:
    """P-cores with SMT, then E-cores without, as Intel's Alder Lake has them."""
    cores: list[tuple[int, ...]] = [(2 * core, 2 * core + 1) for core in range(strong)]
    first = 2 * strong
    cores += [(first + core,) for core in range(weak)]
    return tree(root, cores, kinds={"core": f"0-{first - 1}", "atom": f"{first}-{first + weak - 1}"})


def _write(path: Path, said: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{said}\n")
