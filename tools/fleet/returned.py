"""Workers that come while a series goes on: one on a host that is known takes its place there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .asking import RUN, TEXT
from .host import First, Host
from .link import Landed, Link, Worker


@dataclass
class Returned:
    """Asks each of them once which host it is on; a worker that its nanny starts again has another address."""

    link: Link
    hosts: Collection[Host]
    _asked: set[str] = field(default_factory=set)
    _waiting: set[str] = field(default_factory=set)

    def greet(self, there: Mapping[str, Worker]) -> None:
        """Ask those that are new; one that takes other tasks beside a run is none of ours."""
        known = {worker for host in self.hosts for worker in host.workers}
        for address in there.keys() - known - self._asked:
            if there[address].bench:
                self._asked.add(address)
                self._waiting.add(address)
                self.link.send(address, eval, RUN, {"text": TEXT})

    def take(self, landed: Landed) -> bool:
        """Tell whether that was such an answer; where the host and its versions are known, it has a worker again."""
        if landed.worker not in self._waiting:
            return False
        self._waiting.discard(landed.worker)
        if not landed.lost:
            first = First.model_validate(landed.value)
            for host in self.hosts:
                its = host.first
                if (its.host, its.boot, its.versions) == (first.host, first.boot, first.versions):
                    host.workers.append(landed.worker)
        return True
