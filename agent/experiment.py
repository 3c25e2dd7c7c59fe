"""Experiments beside the diagnosis: what measurement, profile, study, sweep, calibration, machine profile share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from ..knowledge.actions import Precondition
from ..knowledge.errors import VgoError
from ..tools.execution.row_log import Remark
from ..tools.machine import Machine
from ..tools.subject import Subject
from .clock import BudgetClock
from .interface import Interface
from .place import ProgramBench, place
from .run_folder import ANSWER, REQUEST, RunFolder, write
from .session import Changes, Request, RequestResult, RequestSession, ShownAnswer, session
from .transcript import ExperimentStart, VerdictGiven, canonical


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


class ExperimentResult(RequestResult, Protocol):
    """What came of an experiment."""

    @property
    def answer(self) -> Mapping[str, Any]:
        """As the folder keeps it, with `headline` and `command`."""


@dataclass(frozen=True)
class EndedExperiment:
    """An answer, and its words."""

    answer: Mapping[str, Any]
    words: str
    failure: str = ""
    """Why there is no answer."""

    def shown(self, saved: Sequence[Path] = ()) -> ShownAnswer:
        """Both, whatever was saved."""
        return ShownAnswer(self.answer, self.words, self.failure)


class ExperimentRequest(Request):
    """All that it takes to go on with it."""

    FILE: ClassVar[str] = REQUEST
    lenient: ClassVar[bool] = False
    """Whether trial runs on hosts may fail, since the program is one of many."""
    kind: str

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

    def resumed(
        self, folder: RunFolder, interface: Interface, clock: BudgetClock, changes: Changes
    ) -> ExperimentResult:
        """Go on with what the log has, or answer again where that is all."""
        if changes.accept:
            raise VgoError(f"--accept is for a diagnosis, and {folder.path} is a {self.kind}: leave it out.")
        request = self.reached(changes.on)
        request = request.lasting(changes.seconds, folder) if changes.seconds else request
        return go_on(request, folder, interface, clock)

    def run(self, run: ExperimentRun) -> ExperimentResult:
        """Run what the folder lacks; write tables and pages."""
        raise NotImplementedError

    def remade(self, folder: RunFolder) -> RemadeFiles:
        """Make tables and answer again from the log."""
        raise NotImplementedError


R = TypeVar("R", bound=ExperimentResult)


def go_on(request: ExperimentRequest, folder: RunFolder, interface: Interface, clock: BudgetClock) -> ExperimentResult:
    """Go on with what its folder has, or answer again where that is all; also begin one that needs no look before."""
    began_in = request.subject.directory
    if not Path(began_in).is_dir():
        raise VgoError(f"{folder.path} was begun in {began_in}, which is gone: make it again, with what is read there.")
    with clock.waiting():
        request.ask(interface)
    with opened(request, interface, clock) as (began, there):
        return carry_on(request, request.run, folder, began, there)


@contextmanager
def opened(
    request: ExperimentRequest, interface: Interface, clock: BudgetClock
) -> Iterator[tuple[RequestSession, ProgramBench]]:
    """Begin to work, with the bench of the program."""
    with (
        session(interface, clock) as began,
        place(began, request.subject, request.probed, lenient=request.lenient) as there,
    ):
        yield began, there


def carry_on(
    request: ExperimentRequest,
    run: Callable[[ExperimentRun], R],
    folder: RunFolder,
    began: RequestSession,
    there: ProgramBench,
) -> R:
    """Run what the folder lacks, and write the answer."""
    with began.kept_in(folder) as transcript:
        there.keep_in(folder)
        machine = there.described(request.conditions)
        request.keep(folder)
        began.interface.loading(" ".join(request.subject.command), str(folder.path))
        survey = folder.put(canonical(machine.model_dump(mode="json")))
        transcript.append(ExperimentStart(experiment=request.kind, subject=request.subject, machine=survey))
        result = run(ExperimentRun(folder, there, request.subject, machine, began.interface, began.clock))
        for name, content in there.bench.executor.beside.items():
            write(folder.path / name, content)
        write(folder.path / ANSWER, json.dumps(result.answer, indent=2).encode() + b"\n")
        transcript.append(VerdictGiven(verdict=result.answer["headline"], evidence=()))
        return result
