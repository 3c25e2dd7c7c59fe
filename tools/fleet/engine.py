"""The executor over hosts: who they are, how long their runs take, and how much each is sent at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...knowledge.errors import VgoError
from ..execution.expected import MORE_S, Expected
from ..execution.progress import Listener, ignore
from ..execution.series import Series
from ..experiment.conditions import AppliedConditions
from ..experiment.executor import Block, ExperimentConditions
from ..row import BASELINE, Row
from .asking import GRACE_S
from .carrying import MESSAGE_S, Carrying
from .deal import Dealer
from .host import Host, Order
from .link import Link
from .station import deliver, stop

HOSTS = "hosts.json"
"""Artefact: what each host is."""
MOST_RUNS = 50
SHARE = 8
"""A message has at most this part of the runs that a host has made so far, so that hosts keep equal shares."""
LONGER = 20.0
"""A message that takes so many times what its runs should is lost."""


@dataclass
class Fleet:
    """Hosts that take blocks."""

    link: Link
    hosts: dict[str, Host]
    order: Order
    """What every message has in common."""
    ran: Callable[[float], None] = lambda seconds: None
    """Is told for how many seconds the program ran on one host or more."""
    listener: Listener = ignore
    deliver: Callable[[str, float], str] = deliver
    """What a worker calls with an order and its limit in seconds; simulated hosts answer by themselves."""
    lost: list[str] = field(default_factory=list)
    """In words, for the record."""
    _run_s: float = 0.0
    """The longest run so far."""
    _mean_s: float = 0.0

    def __post_init__(self) -> None:
        trials = [host.sight.wall_s for host in self.hosts.values() if host.sight]
        self._run_s = self._mean_s = max(trials, default=0.0)

    @property
    def beside(self) -> Mapping[str, bytes]:
        """What each host is, whom the rows name, and who was lost."""
        hosts = {
            host.digest: {
                "machine": json.loads(host.description),
                "names": sorted(name for name, its in self.hosts.items() if its.sight and its.digest == host.digest),
            }
            for host in self.hosts.values()
            if host.sight
        }
        clocks = {
            name: {"offset_s": round(host.offset_s, 6), "error_s": round(host.error_s, 6)}
            for name, host in sorted(self.hosts.items())
        }
        described = {"descriptions": hosts, "clocks": clocks, "lost": self.lost}
        return {HOSTS: json.dumps(described, indent=1, sort_keys=True).encode() + b"\n"}

    def carry_out(
        self, series: Series, blocks: Iterable[Block], conditions: ExperimentConditions, enough: Callable[[], bool]
    ) -> None:
        """Run the blocks on all hosts at once, until there are none or it is enough."""
        assert isinstance(conditions, AppliedConditions)
        if not enough():
            Carrying(self, series, Dealer.of(blocks, self._living(), series.call_id), enough, conditions).go()

    def expect(self, expected: Expected) -> None:
        """Tell the hosts with every message what the baseline has shown."""
        longest_s = max(self.order.expected.longest_s, expected.longest_s)
        known = expected.model_copy(update={"longest_s": longest_s})
        self.order = self.order.model_copy(update={"expected": known})

    def _living(self) -> list[str]:
        there = self.link.workers(now=True)
        return [name for name, host in self.hosts.items() if any(worker in there for worker in host.workers)]

    def worker_of(self, host: str) -> str | None:
        """The worker of a host that is to get its next piece."""
        there = self.link.workers()
        return next((worker for worker in self.hosts[host].workers if worker in there), None)

    def message_runs(self, hosts: int, done: int) -> int:
        """Runs in one message: about a second of them, and no more than a part of what was run so far."""
        fit = int(MESSAGE_S / self._mean_s) if self._mean_s > 0 else 1
        return max(1, min(fit, MOST_RUNS, done // (SHARE * hosts)))

    def took(self, run: Sequence[Row]) -> float:
        """Learn how long runs take; give the seconds of this one."""
        wall_s = float(sum(row["wall_s"] for row in run))
        self._run_s = max(self._run_s, wall_s)
        if run[0]["condition"] == BASELINE and not run[0]["layers"] and run[0]["ok"] == 1:
            self.expect(self.order.expected.and_also(Expected(longest_s=run[0]["wall_s"])))
        self._mean_s = 0.9 * self._mean_s + 0.1 * wall_s if self._mean_s else wall_s
        return wall_s

    def limit_s(self, runs: int) -> float:
        """When a message is lost: from what its runs should take, once no other benchmark holds the host."""
        each = self.order.subject.timeout_s or LONGER * self._run_s + MORE_S
        return GRACE_S + self.order.patience_s + runs * max(each, 1.0)

    def close(self) -> None:
        """End what goes on at the hosts; where no scheduler answers, nobody can, and that is told elsewhere."""
        with contextlib.suppress(VgoError):
            there = self.link.workers()
            ours = [worker for host in self.hosts.values() for worker in host.workers if worker in there]
            self.link.everywhere(ours, stop)
