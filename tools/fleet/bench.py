"""From `--on` to a bench of hosts that are ready: what measuring tools ask of this machine elsewhere, asked of each."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ...layers.loader import find_layer, load_layers
from ...layers.schema import Layer
from ..execution.expected import NEVER, Deadline, Expected, Proof
from ..execution.launch import Launch
from ..execution.row_log import Listener, Remark, RowLog, ignore
from ..execution.series import Change, Executor, PlannedRun, Series
from ..experiment.conditions import Condition
from ..hosts import FLEET
from ..layers_here import WORDS
from ..machine import Machine
from ..mitigation.verification import Check
from ..study.design import StudyDesign, StudyScope, one_design, one_warm_up
from ..study.setting import StudySetting
from ..study.warm_up import WarmUpRun, left_out
from ..subject import Subject
from .asking import GRACE_S, LONGEST_S, ask_hosts, hosts_of, look_at
from .clusters import come, linked
from .engine import Fleet
from .host import Host, HostAnswer, Order, differences
from .link import Link
from .where import read_where

PROOF_RUNS = 10
"""A proof takes a few runs."""
TIP = "`vgo-agent layers --on {on} -- COMMAND` shows all; --mixed takes the hosts that can, as they are"


@dataclass
class FleetBench:
    """Runs the program on many hosts."""

    subject: Subject
    executor: Fleet
    folder: Path
    launch: Launch
    deadline: Deadline = NEVER
    _layers: dict[str, Layer] = field(default_factory=dict)

    @contextmanager
    def series(self, call_id: str, layers: Sequence[str] = (), planned: int = 0) -> Iterator[Series]:
        """Open a series; rows that a killed process left are its beginning."""
        log = RowLog(self.folder / f"{call_id}.jsonl")
        try:
            yield Series(self, call_id, tuple(layers), log, planned)
        finally:
            log.close()
            gc.collect()  # answers of finished tasks

    def expect(self, expected: Expected) -> None:
        """Have every host know what earlier calls have shown of the baseline."""
        self.executor.expect(expected)

    def run_once(self, series: Series, planned: PlannedRun) -> None:
        """Refuse: runs go out in pieces."""
        raise VgoError("This step makes one run after the other on this machine: leave --on out.")

    @contextmanager
    def change(self, mitigation: Mitigation, machine: Machine, source: Path | None = None) -> Iterator[Change]:
        """Make a mitigation ready: each host makes the change for each of its pieces, and puts it back after it."""
        yield HostsChange(mitigation, self.launch, str(source or ""))

    def prove(self, change: Change) -> Proof:
        """Have every host check that it is in force there, and that the program bears it.

        Each check has the name of its host; a host on which the program does not bear it speaks for all. Raises
        VgoError where a host refuses.
        """
        assert isinstance(change, HostsChange)
        fleet, key = self.executor, change.mitigation.key
        condition = Condition(name=key, mitigation=change.mitigation, source=change.source)
        checks: list[Check] = []
        longest_s, broke = 0.0, ""
        asked = {"act": "prove", "conditions": {key: condition}}
        for host, answer in of_every_host(fleet, asked, fleet.limit_s(PROOF_RUNS)).items():
            longest_s = max(longest_s, answer.spent_s)
            checks += [check.model_copy(update={"what": f"{host}: {check.what}"}) for check in answer.checks]
            broke = broke or (answer.broke and f"{answer.broke} (on {host})")
        fleet.ran(longest_s)
        return Proof(tuple(checks), broke)

    def layer(self, spec: str) -> Layer:
        """Read a layer once."""
        if spec not in self._layers:
            self._layers[spec] = find_layer(spec)
        return self._layers[spec]

    def absent(self, spec: str) -> dict[str, str]:
        """Columns that no host can show, with the reason of the first."""
        self._looked_at(spec)
        names = [column.name for column in self.layer(spec).columns]
        seen = [host.sight.layers[spec] for host in self.executor.hosts.values() if host.sight]
        each = [dict.fromkeys(names, its[""]) if "" in its else its for its in seen]
        everywhere = set[str](each[0]).intersection(*each[1:])
        return {column: why for column, why in each[0].items() if column in everywhere}

    def _looked_at(self, spec: str) -> None:
        hosts = self.executor.hosts
        unseen = [host for host in hosts.values() if host.sight is None or spec not in host.sight.layers]
        if unseen:
            order = self.executor.order.model_copy(update={"act": "look", "layers": {spec: self.layer(spec)}})
            look_at(self.executor.link, unseen, order)
        for host in unseen:
            if host.problems:
                raise VgoError(f"On {host.name}: {host.problems[0]}.")

    def described_by(self, layers: Sequence[str]) -> Mapping[str, Layer]:
        """The layers that describe the columns of such runs, and where they were made, by spec."""
        return {**{spec: self.layer(spec) for spec in layers}, FLEET.key: FLEET}

    def choice_of(self, call_id: str) -> Path:
        """Where the choice of layers stands that a call began with."""
        return self.folder / f"{call_id}.choice.json"

    def close(self) -> None:
        """End what goes on at the hosts."""
        self.executor.close()


@dataclass(frozen=True)
class HostsChange:
    """A mitigation that hosts switch themselves."""

    mitigation: Mitigation
    launch: Launch
    source: str = ""
    """The user's file that it was read from."""
    notices: tuple[str, ...] = ()

    def on(self) -> tuple[Check, ...]:
        """Nothing is switched here."""
        return ()

    def off(self) -> tuple[Check, ...]:
        """Nothing is switched here."""
        return ()


def of_every_host(fleet: Fleet, asked: Mapping[str, Any], limit_s: float) -> dict[str, HostAnswer]:
    """Give the answers by host, sorted; raise VgoError where a host refuses."""
    order = fleet.order.model_copy(update=dict(asked))
    answers = dict(sorted(ask_hosts(fleet.link, fleet.hosts, order, limit_s).items()))
    for host, answer in answers.items():
        if answer.error:
            raise VgoError(f"On {host}: {answer.error}")
    if not answers:
        raise VgoError("No host is left: start workers again.")
    return answers


def laid_out(executor: Executor, wanted: StudyScope) -> StudyDesign:
    """Have every host lay a study out; raise VgoError where they do it differently."""
    assert isinstance(executor, Fleet)
    answers = of_every_host(executor, {"act": "lay_out", "wanted": wanted}, GRACE_S)
    return one_design({host: its.design for host, its in answers.items() if its.design})


def warmed_up(executor: Executor, settings: tuple[StudySetting, ...]) -> tuple[WarmUpRun, ...]:
    """Have every host run each setting of a study once."""
    assert isinstance(executor, Fleet)
    each = executor.order.subject.timeout_s
    asked = {"act": "warm_up", "settings": settings}
    answers = of_every_host(executor, asked, LONGEST_S if each is None else GRACE_S + each * len(settings))
    tried = one_warm_up({host: its.tried for host, its in answers.items()})
    for one in tried:
        if one.failure:
            executor.listener(left_out(one))
    return tried


@dataclass(frozen=True)
class Checked:
    """What a look at a cluster gave."""

    link: Link
    hosts: tuple[Host, ...]
    silent: tuple[str, ...]
    """Workers that told nothing, with the reason."""
    unlike: tuple[str, ...]
    """What is not the same on all hosts."""
    order: Order

    @property
    def usable(self) -> tuple[Host, ...]:
        """Hosts without a problem."""
        return tuple(host for host in self.hosts if not host.problems)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why hosts cannot be used, in sentences."""
        return (*self.silent, *(f"On {host.name}: {wrong}." for host in self.hosts for wrong in host.problems))


@contextlib.contextmanager
def checked(
    subject: Subject, layers: Sequence[str], conditions: bool = False, lenient: bool = False
) -> Iterator[Checked]:
    """Reach the cluster that a subject names, run the program once on each host, and see what there is.

    `lenient`: that run may fail, since it is one setting of many.
    """
    with linked(read_where(subject.on)) as link:
        hosts, silent = hosts_of(link, come(link))
        shared = [host for host in hosts if not host.exclusive]
        for host in shared:
            host.problems.append(
                "its worker takes other tasks beside a run: start it with `--nthreads 1 --resources bench=1`"
            )
        order = Order(
            act="look",
            subject=subject,
            preconditions=conditions,
            trial=True,
            lenient=lenient,
            layers=layers_named(layers),
        )
        look_at(link, hosts, order)
        usable = [host for host in hosts if not host.problems]
        yield Checked(link, tuple(hosts), tuple(silent), tuple(differences(usable)), order)


def layers_named(specs: Sequence[str]) -> dict[str, Layer]:
    """Read the layers that may be wanted, by spec: those named, and all where a word stands for many."""
    named = {spec: find_layer(spec) for spec in specs if spec not in WORDS}
    return {**(load_layers() if set(specs) & set(WORDS) else {}), **named}


def refuse(found: Checked, subject: Subject) -> None:
    """Raise VgoError where hosts cannot be used or differ, unless that was allowed; and where none is left."""
    tip = TIP.format(on=subject.on)
    wrong = (*found.problems, *(f"The hosts differ in {line}." for line in found.unlike))
    if not found.usable:
        raise VgoError(found.problems[0] if found.problems else "The cluster has no host.")
    if wrong and not subject.mixed:
        raise VgoError(f"{wrong[0].rstrip('.')}{f' (and {len(wrong) - 1} more)' if len(wrong) > 1 else ''}; {tip}.")


@contextlib.contextmanager
def fleet_bench(
    subject: Subject,
    layers: Sequence[str],
    folder: Path,
    listener: Listener = ignore,
    conditions: bool = False,
    ran: Callable[[float], None] = lambda seconds: None,
    lenient: bool = False,
) -> Iterator[tuple[FleetBench, Machine]]:
    """Give a bench over all hosts that can be used, and the description of one of them.

    `ran` is told again and again for how many more seconds the program ran on one host or more.
    """
    with checked(subject, layers, conditions, lenient) as found:
        refuse(found, subject)
        for line in (*found.problems, *(f"the hosts differ in {line}" for line in found.unlike)):
            listener(Remark(line))
        hosts = {host.name: host for host in found.usable}
        for name, host in hosts.items():
            for line in host.sight.put_back if host.sight else ():
                listener(Remark(f"{name}: put back, left by a vgo-agent that was killed: {line}"))
        order = found.order.model_copy(update={"trial": False, "layers": {}})
        fleet = Fleet(found.link, hosts, order, listener=listener, ran=ran)
        ran(max(host.sight.wall_s for host in hosts.values() if host.sight))
        bench = FleetBench(subject, fleet, folder, Launch(argv=subject.argv, directory=Path(subject.directory)))
        with contextlib.closing(bench):
            yield bench, machine_of(list(hosts.values()))


def machine_of(hosts: Sequence[Host]) -> Machine:
    """The description of the first host, with the names of all."""
    machine = Machine.model_validate(json.loads(hosts[0].description))
    return machine.model_copy(update={"hosts": tuple(host.name for host in hosts)})
