"""The executor over hosts: blocks go out, rows are kept as they land, and who is silent is given up."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...layers.schema import Layer
from ..execution.bench import refuse_failures
from ..execution.expected import MORE_S, Expected
from ..execution.outcomes import runs_of
from ..execution.row_log import Listener, Remark, RunEnded, ignore
from ..execution.series import Block, ExperimentConditions, Series
from ..experiment.conditions import AppliedConditions
from ..row import BASELINE, Row
from .asking import GRACE_S, LONGEST_S, Returned
from .host import Dealer, Host, HostAnswer, Order, described, runs_in
from .link import Landed, Link
from .station import deliver, stop
from .where import GO_ON

HOSTS = "hosts.json"
"""Artefact: what each host is."""
MESSAGE_S = 1.0
"""Of the program's time in one message, so that its way costs little and a lost host loses little."""
MOST_LOSSES = 3
"""A host that was lost so many times in a series is not asked again in it."""
WAIT_S = 0.5
MOST_RUNS = 50
SHARE = 8
"""A message has at most this part of the runs that a host has made so far, so that hosts keep equal shares."""
LONGER = 20.0
"""A message that takes so many times what its runs should is lost."""


class Span(NamedTuple):
    """A stretch of time, in seconds of one clock."""

    begin_s: float
    end_s: float


def busy_s(spans: Iterable[Span]) -> float:
    """Length in seconds of the union of spans."""
    total_s, covered_s = 0.0, float("-inf")
    for span in sorted(spans):
        total_s += max(0.0, span.end_s - max(span.begin_s, covered_s))
        covered_s = max(covered_s, span.end_s)
    return total_s


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
        return {HOSTS: described(self.hosts, self.lost)}

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


@dataclass
class Carrying:
    """One series on its way."""

    fleet: Fleet
    series: Series
    dealer: Dealer
    enough: Callable[[], bool]
    conditions: AppliedConditions
    _until: dict[str, float] = field(default_factory=dict)
    """Host to when its message is lost."""
    _worker: dict[str, str] = field(default_factory=dict)
    """Host to the worker that has its message."""
    _host: dict[str, str] = field(default_factory=dict)
    """Worker to its host."""
    _losses: Counter[str] = field(default_factory=Counter)
    _looked: float = 0.0
    """When it was last asked who is there."""
    _since: float = field(default_factory=time.monotonic)
    """When a host was last there."""
    _spans: list[Span] = field(default_factory=list)
    """From when to when each run of the program went on."""
    _returned: Returned = field(init=False)

    def __post_init__(self) -> None:
        self._returned = Returned(self.fleet.link, self.fleet.hosts.values())

    def go(self) -> None:
        """Deal and take in until all has landed; then put the rows in order of time."""
        try:
            while not self.dealer.ended:
                self._deal()
                self._take_in(self.fleet.link.landed(WAIT_S if self.dealer.flying else 0.0))
                while landed := self.fleet.link.landed(0.0):
                    self._take_in(landed)
                self._give_up()
        except BaseException:
            self.fleet.close()
            raise
        finally:
            in_order(self.series)
            self.fleet.ran(busy_s(self._spans))

    def _deal(self) -> None:
        hosts, done = self.dealer.hosts, len(self.series.rows)
        if not hosts:
            return
        for host, blocks in self.dealer.deal(self.fleet.message_runs(len(hosts), done)):
            worker = self.fleet.worker_of(host)
            if worker is None:
                self._lose(host, "its worker has gone")
                continue
            order = self.fleet.order.model_copy(update=self._said(blocks))
            limit_s = self._limit_s(runs_in(blocks))
            self._host[worker] = host
            self._until[host], self._worker[host] = time.monotonic() + limit_s + GRACE_S, worker
            self.fleet.link.send(worker, self.fleet.deliver, order.model_dump_json(), limit_s)

    def _limit_s(self, runs: int) -> float:
        """When a message is lost; what one condition takes says little of another, so that many have the longest.

        None is waited for when the budget is used, but for the time of one more message.
        """
        limit_s, known = self.fleet.limit_s(runs), self.fleet.order.subject.timeout_s is not None
        longest_s = limit_s if known or self.conditions.alike else max(limit_s, LONGEST_S)
        return min(longest_s, max(0.0, self.series.bench.deadline.left_s) + 2 * MESSAGE_S)

    def _said(self, blocks: Sequence[Block]) -> dict[str, object]:
        """What this series adds to an order."""
        conditions = {key: self.conditions.conditions[key] for block in blocks for key in block.order}
        named = {spec for one in conditions.values() for spec in one.layers or ()} | set(self.series.layers)
        layers: dict[str, Layer] = {spec: self.series.bench.layer(spec) for spec in sorted(named)}
        said = {"act": "run", "series": self.series.call_id, "on": self.series.layers, "blocks": blocks}
        return {**said, "layers": layers, "conditions": conditions}

    def _take_in(self, landed: Landed | None) -> None:
        """Keep the rows of a message, run by run, and ask after each whether it is enough."""
        if landed is None or self._returned.take(landed):
            return
        host = self._host.get(landed.worker)
        if host is None or self._worker.get(host) != landed.worker:
            return
        if landed.lost:
            self._lose(host, landed.lost)
            return
        answer = HostAnswer.model_validate_json(landed.value)
        if answer.lost:
            self._lose(host, answer.error)
            return
        del self._until[host], self._worker[host]
        self.dealer.finish(host)
        for run in runs_of(answer.rows):
            self._keep(host, landed.worker, run)
            if not self.dealer.stopped and self.enough():
                self.dealer.stop()
        if answer.error:
            raise VgoError(f"On {host}: {answer.error}")

    def _keep(self, host: str, worker: str, run: list[Row]) -> None:
        its, first = self.fleet.hosts[host], len(self.series.rows)
        added = {"host": host, "slot": its.workers.index(worker), "machine": its.digest[:12]}
        rows = [
            {**row, "order": first + place, "began_s": row["began_s"] - its.offset_s, **added}
            for place, row in enumerate(run)
        ]
        self.series.log.append(*rows)
        self._spans.append(Span(rows[0]["began_s"], rows[0]["began_s"] + self.fleet.took(rows)))
        series, condition = self.series, str(run[0]["condition"])
        self.fleet.listener(RunEnded(series.rows, series.planned))
        if run[0]["ok"] == 0 and condition == BASELINE and not run[0]["layers"]:
            said = run[0].get("failure") or f"exit {run[0]['exit_code']}"
            refuse_failures(series, series.bench.subject, f"on {host}: {said}")

    def _give_up(self) -> None:
        """Lose hosts whose message is late or whose workers have gone; take in those that came."""
        now_s = time.monotonic()
        if self.dealer.hosts and now_s - self._looked < WAIT_S:
            return
        there, self._looked = self.fleet.link.workers(), now_s
        for host, worker in list(self._worker.items()):
            if worker not in there:
                self._lose(host, "it has gone, or has given no sign of life")
            elif now_s > self._until[host]:
                self._lose(host, "its answer is long overdue")
        self._returned.greet(there)
        self._join()
        if self.dealer.hosts:
            self._since = now_s
        elif now_s - self._since > self.fleet.link.where.silent_s:
            raise VgoError(
                f"No host is left ({self.fleet.lost[-1] if self.fleet.lost else 'none came'}): start workers again, "
                f"{GO_ON}."
            )
        else:
            time.sleep(WAIT_S)

    def _join(self) -> None:
        """Give a host that has a worker again its part."""
        for name in sorted(self.fleet.hosts.keys() - set(self.dealer.hosts)):
            if self._losses[name] < MOST_LOSSES and self.fleet.worker_of(name):
                self.dealer.join(name)

    def _lose(self, host: str, why: str) -> None:
        worker = self._worker.pop(host, "")
        self._until.pop(host, None)
        self.fleet.link.forget(worker)
        runs = self.dealer.lose(host)
        self._losses[host] += 1
        again = f"; {runs} run{'s are' if runs > 1 else ' is'} made again elsewhere" if runs else ""
        said = f"{host} was lost ({why}){again}"
        self.fleet.lost.append(said)
        self.fleet.listener(Remark(said))


def in_order(series: Series) -> None:
    """Put the runs in the order in which they began, and number the rows so; samples stay with their run."""
    runs = runs_of(series.rows)
    ordered = [row for run in sorted(runs, key=lambda run: float(run[0]["began_s"])) for row in run]
    series.log.rows[:] = [{**row, "order": place} for place, row in enumerate(ordered)]
