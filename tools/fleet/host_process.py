"""The process on a host that measures: it takes orders on standard input and answers on standard output.

It stands apart from the Dask worker, whose threads would disturb the runs, and so that it can be ended by itself; a
watchdog puts back what it leaves when it is killed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from ...knowledge.actions import Precondition
from ...knowledge.errors import VgoError
from ...knowledge.files import first
from ...layers.launcher import open_launcher
from ..child import serve
from ..execution.bench import Bench
from ..execution.launch import Launch, resolve
from ..execution.series import Series
from ..execution.spawn import Spawner
from ..execution.way import try_once
from ..experiment.conditions import AppliedConditions, Condition
from ..layers_here import unavailable
from ..machine import Machine
from ..mitigation.owned_folder import temporary_folder
from ..mitigation.preconditions import shipped
from ..mitigation.restore import restore
from ..study.warm_up import warm_up
from ..subject import LOCAL, Subject
from ..survey import survey
from ..sweep.cell_runs import preconditions
from .host import HostAnswer, Order, Sight

PAUSE_S = 0.02
STEADY = {"load_1min": 0.0, "quiet_cpu": 0}
"""Of a survey, what is another at each look: left out, so that a host has one description."""
IDLE_S = 600.0
"""Without an order for so long it ends; the next one starts another."""


@contextlib.contextmanager
def alone(patience_s: float) -> Iterator[None]:
    """Hold the host; raise VgoError where another one holds it for longer than that.

    The lock is a name that the kernel keeps for the whole host, whoever asks and from whichever folder, and drops when
    its holder dies: a socket in the abstract namespace, which no file can be left of.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        _take(held, time.monotonic() + patience_s)
        yield


def _take(held: socket.socket, until_s: float) -> None:
    name = os.uname().nodename
    while True:
        try:
            held.bind(f"\0vgo-agent-bench-{name}")
            return
        except OSError as busy:
            if time.monotonic() > until_s:
                raise VgoError(
                    f"Another vgo-agent measures on {name}: wait until it has ended, or leave {name} out."
                ) from busy
        time.sleep(PAUSE_S)


def sight(order: Order, bench: Bench, machine: Machine) -> Sight:
    """Look at the program and the layers, and run the program once where that is asked for."""
    files = {path: digest(path) for path in dict.fromkeys((bench.launch.argv[0], *order.subject.inputs))}
    lost = next((path for path, content in files.items() if not content), "")
    program = f"There is no file {lost}: copy it to the same place on every host." if lost else ""
    wall_s = 0.0
    if order.trial and not program:
        program, wall_s = tried(bench)
        program = "" if order.lenient else program
    layers = {spec: absent(spec, bench) for spec in order.layers}
    return Sight(machine=machine.model_copy(update=STEADY), program=program, files=files, wall_s=wall_s, layers=layers)


def tried(bench: Bench) -> tuple[str, float]:
    """Say what is wrong with a trial run, and how long it took in seconds."""
    try:
        return "", try_once(bench.spawner, bench.way(bench.launch), bench.subject).longest_s
    except VgoError as error:
        return str(error), 0.0


def absent(spec: str, bench: Bench) -> dict[str, str]:
    """Say what a layer cannot show here; the key is empty where it can show nothing."""
    if why := unavailable(spec, bench):
        return {"": why}
    try:
        return bench.absent(spec)
    except VgoError as error:
        return {"": str(error)}


def digest(path: str) -> str:
    """SHA-256 of a file; empty where there is none."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def main() -> None:
    """Answer orders until there are no more."""
    with Spawner() as spawner, temporary_folder() as folder, contextlib.closing(HostProcess(spawner, folder)) as cell:
        serve({"answer": lambda order: cell.answer(order).model_dump_json()}, (), IDLE_S)


@dataclass
class HostProcess:
    """One program on this host, its bench opened once."""

    spawner: Spawner
    folder: Path
    _bench: Bench | None = None
    _machines: dict[tuple[Precondition, ...], Machine] = field(default_factory=dict)
    """By what they were surveyed for."""
    _proofs: set[str] = field(default_factory=set)
    """Settings of cells that were shown to be in force."""
    _series: int = 0

    def answer(self, text: str) -> HostAnswer:
        """Do what is ordered; what a user can mend is told."""
        try:
            order = Order.model_validate_json(text)
        except ValidationError as error:
            return HostAnswer(error=f"it does not understand the order ({first(error)}): use one version of all")
        before_ns = self.spawner.spent_ns
        try:
            with alone(order.patience_s):
                done = self._done(order)
            spent_s = (self.spawner.spent_ns - before_ns) / 1e9
            return done.model_copy(update={"clock_s": time.time(), "spent_s": spent_s})
        except VgoError as error:
            return HostAnswer(error=str(error), clock_s=time.time())

    def _done(self, order: Order) -> HostAnswer:
        if order.act == "look":
            told = restore()
            bench = self._opened(order)
            seen = sight(order, bench, self._surveyed(order.subject, of_mitigations() if order.preconditions else ()))
            return HostAnswer(sight=seen.model_copy(update={"put_back": tuple(told)}))
        if order.act == "prove":
            return self._proved(order)
        if order.act == "lay_out" and order.wanted:
            return HostAnswer(design=order.wanted.laid_out(self._opened(order).launch.argv))
        if order.act == "warm_up":
            return HostAnswer(tried=warm_up(self._opened(order), order.settings))
        return self._measured(order)

    def _proved(self, order: Order) -> HostAnswer:
        (key,) = order.conditions
        machine = self._surveyed(order.subject, of_mitigations())
        with AppliedConditions(self._opened(order), order.conditions, machine) as applied:
            return HostAnswer(**applied.prove(key)._asdict())

    def _measured(self, order: Order) -> HostAnswer:
        """Make the blocks; rows of runs that ended before an error are given with it."""
        bench, error = self._opened(order), ""
        self._series += 1
        with bench.series(f"{order.series}-{self._series}", order.on) as series:
            try:
                self._make(order, bench, series)
            except VgoError as refused:
                error = str(refused)
        (self.folder / f"{series.call_id}.jsonl").unlink(missing_ok=True)
        return HostAnswer(rows=tuple(map(dict, series.rows)), error=error)

    def _make(self, order: Order, bench: Bench, series: Series) -> None:
        """Get ready what the blocks ask for, run them, and put it back at the end."""
        made = order.conditions.values()
        needed = any(one.mitigation or one.cell for one in made)
        machine = self._surveyed(order.subject, asked_of(made)) if needed else None
        with AppliedConditions(bench, order.conditions, machine, self._proofs) as conditions:
            for block in order.blocks:
                for place, key in enumerate(block.order):
                    with stamped(series):
                        conditions.run(series, key, block.pair(place))

    def _opened(self, order: Order) -> Bench:
        """The bench of this program; another program has one of its own."""
        if self._bench is None or self._bench.subject != order.subject:
            self.close()
            self._machines.clear()
            self._proofs.clear()
            self._bench = opened(order.subject, self.spawner, self.folder)
        self._bench.know(order.layers)
        self._bench.expect(order.expected)
        return self._bench

    def _surveyed(self, subject: Subject, asked: tuple[Precondition, ...]) -> Machine:
        """Survey this host once, as far as it is asked for."""
        if asked not in self._machines:
            self._machines[asked] = survey(subject, asked, root=Path(subject.root))
        return self._machines[asked]

    def close(self) -> None:
        """Close what is open."""
        if self._bench:
            self._bench.close()
            self._bench = None


def of_mitigations() -> tuple[Precondition, ...]:
    """What any mitigation asks of a machine."""
    return tuple(one.applies for one in shipped().mitigations.values())


def asked_of(conditions: Iterable[Condition]) -> tuple[Precondition, ...]:
    """What these conditions ask of a machine; the cells of a sweep have the same parameters."""
    cell = next((one.cell for one in conditions if one.cell), None)
    return preconditions(cell.parameters) if cell else of_mitigations()


def opened(subject: Subject, spawner: Spawner, folder: Path) -> Bench:
    """Make the bench of a program on this host; raise VgoError where it cannot be run here."""
    if not Path(subject.directory).is_dir():
        raise VgoError(
            f"There is no folder {subject.directory} here: share it with every host, or start from one there."
        )
    os.chdir(subject.directory)
    argv = subject.argv if subject.shell else resolve(subject.argv)
    return Bench(
        subject=subject,
        spawner=spawner,
        folder=folder,
        launch=Launch(argv=argv, directory=Path(subject.directory)),
        root=Path(subject.root),
        launcher=None if subject.launcher == LOCAL else open_launcher(subject.launcher),
    )


@contextlib.contextmanager
def stamped(series: Series) -> Iterator[None]:
    """Note in the rows of a run when it began by the clock of this host."""
    before, began_s = len(series.rows), time.time()
    try:
        yield
    finally:
        rows = series.log.rows
        rows[before:] = [{**row, "began_s": began_s} for row in rows[before:]]


if __name__ == "__main__":
    main()
