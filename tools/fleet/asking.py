"""Ask every host what it is and what can be done there, before anything is measured."""

from __future__ import annotations

import importlib.metadata
import inspect
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import first_look
from .host import First, Host, HostAnswer, Order
from .link import Landed, Link, Worker
from .station import deliver

LOOK_S = 20.0
"""For a worker to say which host it is."""
PINGS = 3
"""Of each host's clock; the quickest counts."""
LONGEST_S = 3600.0
"""For a look with a trial run, where --timeout does not say less."""
GRACE_S = 30.0
"""Beyond the limit of an order, for its answer to come."""
TEXT = inspect.getsource(first_look)
RUN = "(lambda known: (exec(text, known), known['look']())[1])({'__name__': 'first_look'})"


def ask_all(
    link: Link, workers: Mapping[str, Worker], function: Callable[..., Any], given: tuple[Any, ...], limit_s: float
) -> dict[str, Landed]:
    """Have each worker call a function; one that has not answered by the limit, or has gone, is given up."""
    for worker in workers:
        link.send(worker, function, *given)
    answers: dict[str, Landed] = {}
    until_s = time.monotonic() + limit_s
    while len(answers) < len(workers) and time.monotonic() < until_s:
        landed = link.landed(min(1.0, until_s - time.monotonic()))
        if landed:
            answers[landed.worker] = landed
        gone = workers.keys() - answers.keys() - link.workers().keys()
        for worker in gone:
            answers[worker] = Landed(worker, None, "it has gone, or has given no sign of life")
            link.forget(worker)
    for worker in workers.keys() - answers.keys():
        answers[worker] = Landed(worker, None, f"it gave no answer within {limit_s:.0f} s")
        link.forget(worker)
    return answers


def hosts_of(link: Link, workers: Mapping[str, Worker]) -> tuple[list[Host], list[str]]:
    """Find which hosts the workers are on, by name, and how far their clocks are off; and say who did not answer."""
    found: dict[tuple[str, str], Host] = {}
    silent: dict[str, str] = {}
    for _ in range(PINGS):
        left = {address: worker for address, worker in workers.items() if address not in silent}
        for address, landed in ask_all(link, left, eval, (RUN, {"text": TEXT}), LOOK_S).items():
            if landed.lost:
                silent[address] = landed.lost
                continue
            first = First.model_validate(landed.value)
            host = found.setdefault((first.host, first.boot), Host(first.host, first, [], error_s=float("inf")))
            if address not in host.workers:
                host.workers.append(address)
            read_clock(host, first.clock_s, landed.sent_s, landed.landed_s)
    for host in found.values():
        host.workers.sort(key=lambda address: workers[address].name)
        host.exclusive = all(workers[address].bench for address in host.workers)
        host.problems += _versions(host.first)
    _tell_apart(list(found.values()))
    told = [
        f"The worker {workers[address].name} at {address} cannot be used: {why}." for address, why in silent.items()
    ]
    return sorted(found.values(), key=lambda host: host.name), told


def read_clock(host: Host, theirs_s: float, sent_s: float, landed_s: float) -> None:
    """Cristian's method: their clock was read half a round trip ago, give or take that half."""
    error_s = (landed_s - sent_s) / 2
    if error_s < host.error_s:
        host.offset_s, host.error_s = theirs_s - (sent_s + landed_s) / 2, error_s


def _versions(first: First) -> list[str]:
    ours = importlib.metadata.version("vgo-agent")
    theirs = first.versions["vgo-agent"]
    if not theirs:
        return [f"vgo-agent is not installed for its Python {first.python}: pip install 'vgo-agent[cluster]=={ours}'"]
    if theirs != ours:
        return [f"it has vgo-agent {theirs}, and here is {ours}: install the same version on both"]
    return []


def _tell_apart(hosts: list[Host]) -> None:
    """Give hosts that have one name, as localhost, names of their own."""
    for host in hosts:
        same = [other for other in hosts if other.first.host == host.first.host]
        if len(same) > 1:
            host.name = f"{host.first.host}@{host.workers[0].partition('://')[2].rpartition(':')[0]}"


def ask_hosts(link: Link, hosts: Mapping[str, Host], order: Order, limit_s: float) -> dict[str, HostAnswer]:
    """Have each host that has a worker do an order; where no answer comes, the reason is its error.

    `limit_s` is for the order itself: another benchmark may be measuring there.
    """
    there = link.workers()
    living = {name: [worker for worker in host.workers if worker in there] for name, host in hosts.items()}
    by_worker = {workers[0]: name for name, workers in living.items() if workers}
    limit_s += order.patience_s
    asked, given = {worker: there[worker] for worker in by_worker}, (order.model_dump_json(), limit_s)
    return {
        by_worker[worker]: HostAnswer(error=its.lost) if its.lost else HostAnswer.model_validate_json(its.value)
        for worker, its in ask_all(link, asked, deliver, given, limit_s + GRACE_S).items()
    }


def look_at(link: Link, hosts: list[Host], order: Order) -> None:
    """Ask each host what can be run and measured there; what is wrong becomes its problem."""
    asked = {host.name: host for host in hosts if not host.problems}
    limit_s = GRACE_S + (order.subject.timeout_s or LONGEST_S) * order.trial
    answers = ask_hosts(link, asked, order, limit_s)
    for name, host in asked.items():
        answer = answers.get(name, HostAnswer(error="its worker has gone: start it again"))
        wrong = answer.error or (answer.sight.program if answer.sight else "")
        if wrong:
            host.problems.append(wrong.rstrip("."))
            continue
        assert answer.sight is not None
        known = host.sight.layers if host.sight else {}
        host.sight = answer.sight.model_copy(update={"layers": {**known, **answer.sight.layers}})


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
