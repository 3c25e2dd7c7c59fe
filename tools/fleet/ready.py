"""From `--on` to hosts that are ready: reach them, look at them, refuse what cannot be pooled."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...knowledge.errors import VgoError
from ...layers.loader import load_layer, load_layers
from ...layers.schema import Layer
from ..execution.launch import Launch
from ..execution.progress import Listener, Remark, ignore
from ..layers_here import WORDS
from ..machine import Machine
from ..subject import Subject
from .asking import hosts_of, look_at
from .bench import FleetBench
from .clusters import come, linked
from .engine import Fleet
from .host import Host, Order, differences
from .link import Link
from .where import read_where

TIP = "`vgo-agent layers --on {on} -- COMMAND` shows all; --mixed takes the hosts that can, as they are"


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
    named = {spec: load_layer(spec) for spec in specs if spec not in WORDS}
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
