"""Carry a sweep out in its folder, or go on with one: every run is kept as it ends, the tables at the end."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from ...knowledge.absence import is_empty
from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...tools.execution.bench import Bench, ignore
from ...tools.execution.row_log import SYNC_S, RowLog
from ...tools.execution.spawn import Spawner
from ...tools.layer_choice import choose
from ...tools.row import Row
from ...tools.subject import Allow, Limits, Subject
from ...tools.sweep.cell import Cell
from ...tools.sweep.local import LocalCells
from ...tools.sweep.space import Repetitions, Space, SweepBudget
from ...tools.sweep.sweep import Sweep
from ...tools.sweep.treatments import CellsHere, CellsThere
from ..child import ChildFile, end_orphan
from ..clock import BudgetClock
from ..place import place
from ..progress import LINE_EVERY_S, Lines
from ..run_folder import RunFolder, write
from ..session import held, tell_restored
from ..settings import UserSettings
from ..terminal import amount
from .preview import ask
from .request import PREFIX, SweepRequest, knowledge_for

ASKED = "sweep.yaml"
FILES_S, SHARE = 3.0, 0.5
"""Of the budget, for the tables and pictures after the last run; no more than a share of it."""


class SweepPlan(Frozen):
    """What was asked for, resolved; a sweep goes on only with the same, but for its limits."""

    space: Space
    seed: int
    layers: tuple[str, ...]
    launcher: str
    root: str
    directory: str
    timeout_s: float | None
    hosts: bool = Field(default=False, exclude_if=is_empty)
    """It runs on the hosts of a cluster, wherever that is today."""
    mixed: bool = Field(default=False, exclude_if=is_empty)
    inputs: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    allow: Allow = Limits().allow
    """A command that goes on with it need not say it again."""

    def but_for_limits(self) -> SweepPlan:
        """The same with the usual repetitions and budget, which may change from one command to the next."""
        free = {"repetitions": Repetitions(), "budget": SweepBudget(), "description": ""}
        return self.model_copy(
            update={"space": self.space.model_copy(update=free), "mixed": False, "allow": Limits().allow}
        )


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended."""

    summary: dict[str, Any]
    text: str
    failure: str = ""
    """Why there is no answer: no cell could be run."""


def conduct(request: SweepRequest, interface: Lines) -> SweepResult:
    """Ask, put back what a killed process left, run, and write the files."""
    with request.clock.waiting():
        ask(request, interface)
    tell_restored(interface)
    subject = request.first_subject()
    asked = _asked(request, subject)
    with Spawner() as spawner, _folder(request, asked, interface) as folder, contextlib.ExitStack() as stack:
        end_orphan(folder / "child.pid")
        child = ChildFile(folder / "child.pid")
        stack.callback(child.close)
        drawn = stack.enter_context(_log(folder / "cells.jsonl", 0.0))
        ran = stack.enter_context(_log(folder / "log.jsonl"))
        there = stack.enter_context(
            place(
                subject,
                folder,
                spawner,
                interface,
                request.layers,
                listener=ignore,
                on_started=child,
                told=interface.say,
                lenient=True,
            )
        )
        bench, machine = there.bench, there.described(request.conditions)
        layers = choose(request.layers, bench).layers if request.layers else ()
        seconds = request.space.budget.seconds or request.settings.budget_s
        bench.deadline = request.clock.deadline(seconds, min(FILES_S, SHARE * seconds))
        told = SweepProgress(interface, request.space)
        sweep = Sweep(request.space, request.settings.seed, drawn, ran, asked.hosts, told, bench.deadline)
        template = subject.model_copy(update={"command": request.space.command})

        def write_files() -> tuple[dict[str, Any], str]:
            from .files import Files  # tables and pictures are dear to load, and no run should wait for that

            for name, content in bench.executor.beside.items():
                write(folder / name, content)
            return Files(folder, template, machine, bench.described_by(layers)).write(sweep)

        def go() -> None:
            if not isinstance(bench, Bench):
                sweep.go(bench, CellsThere(request.space, request.subject, layers, sweep.cell), layers)
                return
            with contextlib.closing(LocalCells(request.cells(machine).of, machine, bench, layers)) as cells:
                sweep.go(bench, CellsHere(cells, sweep.cell))

        _run(go, write_files)
        return _ending(sweep, *write_files())


def _log(path: Path, sync_s: float = SYNC_S) -> contextlib.closing[RowLog]:
    """Open a log of a sweep; cells are on the disk before runs of them can be."""
    return contextlib.closing(RowLog(path, "run the same command again", sync_s))


def _run(go: Callable[[], object], write_files: Callable[[], object]) -> None:
    """Run; what was measured is written where an error ends it, and stands in the log whatever does."""
    gc.disable()  # a collection between two runs would evict what the next one finds in the cache
    try:
        go()
    except VgoError:
        with contextlib.suppress(VgoError):  # the first says more
            write_files()
        raise
    finally:
        gc.enable()


def _ending(sweep: Sweep, summary: dict[str, Any], text: str) -> SweepResult:
    failure = ""
    if sweep.impossible:
        first = sweep.standing(sweep.cells[0]).reason
        failure = f"No cell could be run: {first}; see cells.csv in {summary['folder']} for the others."
    return SweepResult(summary, text, failure)


def _asked(request: SweepRequest, subject: Subject) -> SweepPlan:
    settings = request.settings
    return SweepPlan(
        space=request.space,
        seed=settings.seed,
        layers=request.layers,
        launcher=settings.launcher,
        root=subject.root,
        directory=subject.directory,
        timeout_s=settings.timeout_s,
        hosts=bool(request.on),
        mixed=request.mixed,
        inputs=request.inputs,
        allow=settings.allow,
    )


@contextlib.contextmanager
def _folder(request: SweepRequest, asked: SweepPlan, interface: Lines) -> Iterator[Path]:
    """Make the folder, or take up that of an earlier command with the same space; held against a second process."""
    folder = request.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VgoError(
            f"Cannot write in {folder.parent} ({error.strerror}); name another folder with --out."
        ) from error
    with held(RunFolder(folder)):
        before = _before(folder)
        if before and before.hosts != asked.hosts:
            made = "on the hosts of a cluster" if before.hosts else "on this machine"
            raise VgoError(
                f"{folder} holds a sweep that was made {made}: go on with it there, or give this one a --name."
            )
        if before and (differs := _differs(before, asked)):
            raise VgoError(
                f"{folder} holds a sweep with another {differs}: give this one a --name of its own, or remove that."
            )
        if before:
            interface.say(f"going on with {folder}")
        page = yaml.safe_dump(asked.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
        write(folder / ASKED, page.encode())
        if not before:
            RunFolder(folder).note_time("begun")
        yield folder


def _before(folder: Path) -> SweepPlan | None:
    path = folder / ASKED
    if not path.exists():
        if any(one.name != ".lock" for one in folder.iterdir()):
            raise VgoError(f"{folder} is there and holds no sweep: give a --name of its own, or another --out.")
        return None
    return asked_in(folder)


def asked_in(folder: Path) -> SweepPlan:
    """Read what a sweep was asked for."""
    path = folder / ASKED
    try:
        return SweepPlan.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError, ValidationError) as error:
        raise VgoError(f"{path} is broken, so the sweep cannot go on: remove the folder, or give --name.") from error


def request_in(folder: Path, settings: UserSettings, clock: BudgetClock, on: str, more_s: float | None) -> SweepRequest:
    """What the sweep in a folder was asked to do, on hosts that may be reached elsewhere now, or for more_s seconds."""
    asked = asked_in(folder)
    space = asked.space
    if more_s:
        space = space.model_copy(update={"budget": space.budget.model_copy(update={"seconds": more_s})})
    same = {name: getattr(asked, name) for name in ("seed", "launcher", "timeout_s", "allow")}
    settings = settings.model_copy(update={**same, "root": Path(asked.root), "out": folder.parent})
    name, known = folder.name.removeprefix(PREFIX), knowledge_for(space)
    return SweepRequest(space, name, settings, asked.layers, asked.inputs, known, on, asked.mixed, clock)


def _differs(before: SweepPlan, now: SweepPlan) -> str:
    """Name what is another than it was; empty where the sweep can go on."""
    one, other = before.but_for_limits(), now.but_for_limits()
    for name in SweepPlan.model_fields:
        if name != "space" and getattr(one, name) != getattr(other, name):
            return name
    return next((name for name in Space.model_fields if getattr(one.space, name) != getattr(other.space, name)), "")


@dataclass
class SweepProgress:
    """Says now and then how far it is."""

    interface: Lines
    space: Space
    _last_s: float = field(default_factory=time.monotonic)
    _given_up: set[str] = field(default_factory=set)

    def __call__(self, sweep: Sweep, cell: Cell, row: Row) -> None:
        """Take one run."""
        if not row["ok"] and cell.id not in self._given_up and (reason := sweep.standing(cell).reason):
            self._given_up.add(cell.id)
            self.interface.say(f"  {cell.id} ({cell.name}) is given up: {reason}")
        if time.monotonic() - self._last_s < LINE_EVERY_S:
            return
        self._last_s = time.monotonic()
        spent = f"{sweep.runs} runs, {amount(sweep.spent_s, 's')} of the program"
        self.interface.say(f"  round {row['pair'] + 1} of {self.space.repetitions.most} at most: {spent}")
