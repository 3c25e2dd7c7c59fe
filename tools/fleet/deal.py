"""Deal blocks to hosts: one in flight a host, at random, none ahead of another by more than a message."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..experiment.block import BARRIER, Block

LEAD = 1
"""Messages by which a host may be ahead of the last one: fast hosts wait, so that each has its share of every stretch
of time."""


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
