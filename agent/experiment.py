"""The lifecycle of a measurement, a profile, a study, a sweep and a calibration: opened, kept, answered, closed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from pydantic import ValidationError

from ..knowledge.actions import Precondition
from ..knowledge.errors import VgoError
from ..knowledge.shape import Frozen
from ..tools.execution.progress import Remark
from ..tools.execution.spawn import Spawner
from ..tools.machine import Machine
from ..tools.subject import Subject
from .clock import BudgetClock
from .closing import append_end, closing
from .experiment_folder import ANSWER, KINDS, REQUEST, experiment_in
from .interface import Interface
from .place import ProgramBench, place
from .run_folder import RunFolder, write
from .session import resumable, tell_restored
from .transcript import ExperimentStart, Transcript, VerdictGiven, canonical

UNSEALED = ("transcript.jsonl", ".lock", "child.pid")
"""Files of the folder that the end record has no hash of."""


@dataclass(frozen=True)
class ExperimentRun:
    """An experiment that goes on, and what it stands on."""

    folder: RunFolder
    place: ProgramBench
    subject: Subject
    machine: Machine
    interface: Interface
    clock: BudgetClock

    @property
    def facts(self) -> Mapping[str, Any]:
        """What its table says of program and machine."""
        return {"subject": self.subject.model_dump(mode="json"), "machine": self.machine.model_dump(mode="json")}

    def say(self, words: str) -> None:
        """Tell whoever watches."""
        self.interface.progressed(Remark(words))


class RemadeFiles(NamedTuple):
    """What the rows of a log give, made again without a run."""

    rows: int
    tables: Mapping[str, bytes]
    answer: Mapping[str, Any]
    """Those fields of the answer that rows alone give."""


class ShownAnswer(NamedTuple):
    """An answer as a command gives it."""

    values: dict[str, Any]
    """The object of `--json`."""
    words: str
    failure: str = ""
    """Why there is none."""


class ExperimentResult(Protocol):
    """What came of an experiment."""

    @property
    def answer(self) -> Mapping[str, Any]:
        """As the folder keeps it, with `headline` and `command`."""

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """As a command gives it; `saved` are files that the user asked for."""


class ExperimentRequest(Frozen):
    """What was asked for: all that it takes to go on with it."""

    lenient: ClassVar[bool] = False
    """Whether trial runs on hosts may fail, since the program is one of many."""
    kind: str
    subject: Subject

    @property
    def conditions(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""
        return ()

    @property
    def probed(self) -> Sequence[str]:
        """Layers that hosts are asked about."""
        return ()

    def reached(self, on: str) -> Self:
        """Reach its hosts elsewhere now; empty: where they were."""
        if on and not self.subject.on:
            raise VgoError(f"The {self.kind} was made on this machine: go on without --on, or begin a new one.")
        return self.model_copy(update={"subject": self.subject.model_copy(update={"on": on})}) if on else self

    def lasting(self, seconds: float, folder: RunFolder) -> Self:
        """Give it so many seconds from now."""
        raise NotImplementedError

    def ask(self, interface: Interface) -> None:
        """Ask for consent to what changes more than the program; VgoError without it."""

    def run(self, run: ExperimentRun) -> ExperimentResult:
        """Run what the folder lacks; write tables and pages."""
        raise NotImplementedError

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make tables and answer again from the log."""
        raise NotImplementedError


R = TypeVar("R", bound=ExperimentResult)


def read_experiment(folder: Path) -> ExperimentRequest:
    """Read what the experiment in a folder was asked for."""
    path, kind = folder / REQUEST, experiment_in(folder)
    if kind not in KINDS:
        raise VgoError(f"{path} is damaged, so it cannot go on: begin a new one.")
    module, name = KINDS[kind]
    request: type[ExperimentRequest] = getattr(import_module(f".{module}", __package__), name)
    try:
        return request.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise VgoError(f"{path} is damaged, so the {kind} cannot go on: begin a new one.") from error


def go_on(request: ExperimentRequest, folder: RunFolder, interface: Interface, clock: BudgetClock) -> ExperimentResult:
    """Go on with what its folder has, or answer again where that is all; also begin one that needs no look before."""
    began_in = request.subject.directory
    if not Path(began_in).is_dir():
        raise VgoError(f"{folder.path} was begun in {began_in}, which is gone: make it again, with what is read there.")
    with clock.waiting():
        request.ask(interface)
    with opened(request, interface) as there:
        return carry_on(request, request.run, folder, there, interface, clock)


@contextmanager
def opened(request: ExperimentRequest, interface: Interface) -> Iterator[ProgramBench]:
    """Put back what a dead process left, and open the bench of the program."""
    tell_restored(interface)
    with (
        Spawner() as spawner,
        place(
            request.subject,
            Path(),
            spawner,
            interface,
            request.probed,
            lenient=request.lenient,
        ) as there,
    ):
        yield there


def carry_on(
    request: ExperimentRequest,
    run: Callable[[ExperimentRun], R],
    folder: RunFolder,
    there: ProgramBench,
    interface: Interface,
    clock: BudgetClock,
) -> R:
    """Hold the folder, end an orphan, run what it lacks, write the answer, and close the transcript however it ends."""
    folder.make()
    with resumable(folder):
        there.keep_in(folder)
        machine = there.described(request.conditions)
        write(folder.path / REQUEST, request.model_dump_json(indent=2).encode() + b"\n")
        folder.note_time("begun")
        interface.loading(" ".join(request.subject.command), str(folder.path))
        path = folder.transcript
        transcript = Transcript.open(path) if path.exists() else Transcript.create(path)
        survey = folder.put(canonical(machine.model_dump(mode="json")))
        transcript.append(ExperimentStart(experiment=request.kind, subject=request.subject, machine=survey))
        with closing(lambda status, reason: append_end(transcript, folder, clock, _made(folder), status, reason)):
            result = run(ExperimentRun(folder, there, request.subject, machine, interface, clock))
            for name, content in there.bench.executor.beside.items():
                write(folder.path / name, content)
            write(folder.path / ANSWER, json.dumps(result.answer, indent=2).encode() + b"\n")
            transcript.append(VerdictGiven(verdict=result.answer["headline"], evidence=()))
        append_end(transcript, folder, clock, _made(folder))
        return result


def _made(folder: RunFolder) -> list[str]:
    """Name the files of the folder, but those of the transcript and of processes; artefacts have their hash as name."""
    files = (path.relative_to(folder.path) for path in sorted(folder.path.rglob("*")) if path.is_file())
    return [str(file) for file in files if file.parts[0] not in (*UNSEALED, "artefacts")]
