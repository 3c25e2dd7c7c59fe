"""Hosts of a cluster: what is the same and what differs between several, and blocks dealt to them at random."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...knowledge.shape import Frozen
from ...layers.schema import Layer
from ..execution.expected import Expected
from ..execution.series import BARRIER, Block
from ..experiment.conditions import Condition
from ..machine import Machine
from ..mitigation.verification import Check
from ..study.design import StudyDesign, StudyScope
from ..study.setting import StudySetting
from ..study.warm_up import WarmUpRun
from ..subject import Subject

SAME = ("cpu", "architecture", "kernel", "online", "memory_bytes", "numa_nodes", "governor", "thp", "root", "virtual")
"""Of a survey, what hosts have alike where runs on them can be pooled."""
MEMORY = 0.05
"""The memory of equal hosts may differ by this share: firmware keeps some."""
LEAD = 1
"""Messages by which a host may be ahead of the last one: fast hosts wait, so that each has its share of every stretch
of time."""


class Order(Frozen):
    """One message to a host."""

    act: Literal["look", "run", "prove", "lay_out", "warm_up"]
    """look: say what there is; run: make the blocks; prove: show that the mitigation is in force; lay_out: say which
    settings a study has there; warm_up: run each of them once."""
    subject: Subject
    preconditions: bool = False
    """With `look`: answer all that the preconditions of mitigations ask for."""
    trial: bool = False
    """With `look`: run the program once."""
    lenient: bool = False
    """With `trial`: it may fail, since it is one setting of many."""
    expected: Expected = Expected()
    series: str = ""
    layers: dict[str, Layer] = {}
    """By spec, all that a condition or a look may name."""
    on: tuple[str, ...] = ()
    """Layers of the series."""
    blocks: tuple[Block, ...] = ()
    conditions: dict[str, Condition] = {}
    """Of these blocks, by key; with `prove`, the one to prove."""
    settings: tuple[StudySetting, ...] = ()
    """With `warm_up`."""
    wanted: StudyScope | None = None
    """With `lay_out`: the study."""
    patience_s: float = 60.0
    """How long to wait for another benchmark on this host."""


class Sight(Frozen):
    """What there is on one host."""

    machine: Machine
    program: str = ""
    """Why the program cannot be run there, with the cure; empty when it can."""
    files: dict[str, str] = {}
    """SHA-256 of the program and of the files among its arguments, by path; empty where there is none."""
    wall_s: float = 0.0
    """Of the trial run."""
    layers: dict[str, dict[str, str]] = {}
    """Spec to columns that cannot be had, with the reason; the key is empty where that holds for all."""
    put_back: tuple[str, ...] = ()
    """What an agent that was killed there had left changed."""


class HostAnswer(Frozen):
    """What a host gave."""

    rows: tuple[dict[str, Any], ...] = ()
    """With `began_s`, by the clock of the host."""
    error: str = ""
    """One sentence: what is wrong and what cures it."""
    checks: tuple[Check, ...] = ()
    broke: str = ""
    """What the mitigation did to the program there."""
    sight: Sight | None = None
    design: StudyDesign | None = None
    """Of a study, as it would be there."""
    tried: tuple[WarmUpRun, ...] = ()
    """Its warm-up runs."""
    clock_s: float = 0.0
    spent_s: float = 0.0
    """For which the program ran."""
    lost: bool = False
    """The process that measures there ended or was ended before it answered."""


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


def described(hosts: Mapping[str, Host], lost: Sequence[str]) -> bytes:
    """Say as JSON what each host is, whom the rows name, and who was lost."""
    told = {
        host.digest: {
            "machine": json.loads(host.description),
            "names": sorted(name for name, its in hosts.items() if its.sight and its.digest == host.digest),
        }
        for host in hosts.values()
        if host.sight
    }
    clocks = {
        name: {"offset_s": round(host.offset_s, 6), "error_s": round(host.error_s, 6)}
        for name, host in sorted(hosts.items())
    }
    found = {"descriptions": told, "clocks": clocks, "lost": lost}
    return json.dumps(found, indent=1, sort_keys=True).encode() + b"\n"


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


@dataclass
class Dealer:
    """Who does what next."""

    blocks: Iterator[Block]
    hosts: list[str]
    """That can be given something."""
    chance: random.Random
    flying: dict[str, tuple[Block, ...]] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    """Runs that each host has been given and has not lost."""
    again: deque[Block] = field(default_factory=deque)
    """Blocks that were lost: they come first."""
    over: bool = False
    """No more blocks are to come, but for those to be made again."""
    stopped: bool = False
    """It is enough: nothing is made again either."""
    _waiting: bool = False
    """At a barrier."""

    @classmethod
    def of(cls, blocks: Iterable[Block], hosts: Iterable[str], seed: str) -> Dealer:
        """Begin; nothing is dealt yet."""
        names = sorted(hosts)
        return cls(iter(blocks), names, random.Random(seed), done=dict.fromkeys(names, 0))

    @property
    def ended(self) -> bool:
        """Everything was dealt and has ended."""
        return self.over and not self.flying and not self.again

    def deal(self, most: int) -> Iterator[tuple[str, tuple[Block, ...]]]:
        """Give each host that is free, in random order, up to `most` runs in whole blocks; at least one block."""
        least = min(self.done.values(), default=0)
        free = [host for host in self.hosts if host not in self.flying and self.done[host] - least < LEAD * most]
        for host in self.chance.sample(free, len(free)):
            given = self._next(most)
            if not given:
                return
            self.flying[host] = given
            self.done[host] += runs_in(given)
            yield host, given

    def finish(self, host: str) -> None:
        """A host has given its rows."""
        del self.flying[host]

    def lose(self, host: str) -> int:
        """A host is gone: what it was doing is made again by others. Give the number of runs."""
        lost = self.flying.pop(host, ())
        self.again.extend(() if self.stopped else lost)
        if host in self.hosts:
            self.hosts.remove(host)
        self.done.pop(host, None)
        return runs_in(lost)

    def join(self, host: str) -> None:
        """A host is there, with as many runs as the least of the others, so that it is not flooded."""
        self.hosts.append(host)
        self.done[host] = min(self.done.values(), default=0)

    def stop(self) -> None:
        """Deal nothing more; what is in flight may land."""
        self.over = self.stopped = True
        self.again.clear()

    def _next(self, most: int) -> tuple[Block, ...]:
        given: list[Block] = []
        while runs_in(given) < most:
            block = self.again.popleft() if self.again else self._drawn()
            if block is None:
                break
            if block.order:
                given.append(block)
        return tuple(given)

    def _drawn(self) -> Block | None:
        """The next block; None where there is none, or not yet."""
        if self.over or (self._waiting and (self.flying or self.again)):
            return None
        self._waiting = False
        block = next(self.blocks, None)
        if block is None:
            self.over = True
        elif block == BARRIER:
            self._waiting = True
            return None
        return block


def runs_in(blocks: Iterable[Block]) -> int:
    """Count the runs."""
    return sum(len(block.order) for block in blocks)
