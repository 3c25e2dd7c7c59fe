"""One host of a cluster, and what is the same and what differs between several of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...knowledge.shape import Frozen
from .messages import Sight

SAME = ("cpu", "architecture", "kernel", "online", "memory_bytes", "numa_nodes", "governor", "thp", "root", "virtual")
"""Of a survey, what hosts have alike where runs on them can be pooled."""
MEMORY = 0.05
"""The memory of equal hosts may differ by this share: firmware keeps some."""


class First(Frozen):
    """What a worker says of its host before anything of vgo-agent is asked."""

    host: str
    boot: str
    kernel: str
    python: str
    versions: dict[str, str]
    clock_s: float


@dataclass
class Host:
    """One host, with the workers on it."""

    name: str
    first: First
    workers: list[str]
    """Addresses; a piece goes to the first that lives."""
    offset_s: float = 0.0
    """Its clock less ours."""
    error_s: float = 0.0
    """Half of the round trip in which it was read: the offset is known to that."""
    exclusive: bool = True
    """Its workers take one benchmark at a time."""
    sight: Sight | None = None
    problems: list[str] = field(default_factory=list)
    """Why nothing can be measured there, each with its cure."""

    @property
    def description(self) -> bytes:
        """What the host is, canonical: the same host has the same bytes."""
        assert self.sight is not None
        return self.sight.machine.model_dump_json().encode()

    @property
    def digest(self) -> str:
        """SHA-256 of the description."""
        return hashlib.sha256(self.description).hexdigest()


def differences(hosts: Sequence[Host]) -> list[str]:
    """Say what is not the same everywhere, and which hosts have what."""
    facts = {host.name: dict(_facts(host)) for host in hosts}
    names = dict.fromkeys(name for its in facts.values() for name in its)
    return [line for name in names if (line := _unlike(name, {host: its.get(name, "") for host, its in facts.items()}))]


def _facts(host: Host) -> Iterator[tuple[str, str]]:
    yield "Python", host.first.python.rpartition(".")[0]
    if host.sight is None:
        return
    machine = host.sight.machine
    for name in SAME:
        yield name, str(getattr(machine, name))
    yield "CPUs", str(len(machine.cpus))
    for path, content in host.sight.files.items():
        yield f"the content of {path}", content[:12]
    for spec, absent in host.sight.layers.items():
        yield f"columns that the layer {spec} lacks", ", ".join(sorted(absent)) or "none"


def _unlike(name: str, values: Mapping[str, str]) -> str:
    if len(set(values.values())) == 1 or (name == "memory_bytes" and _near(list(values.values()))):
        return ""
    usual = Counter(values.values()).most_common(1)[0][0]
    odd = [f"{host} has {value[:60] or 'none'}" for host, value in sorted(values.items()) if value != usual]
    shown = ", ".join(odd[:4]) + (f" and {len(odd) - 4} more hosts differ" if len(odd) > 4 else "")
    return f"{name}: {shown}; the others have {usual[:60] or 'none'}"


def _near(values: list[str]) -> bool:
    sizes = [int(value or 0) for value in values]
    return max(sizes) - min(sizes) <= MEMORY * max(sizes)
