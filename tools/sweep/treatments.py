"""Cells of a sweep as a host is told of them, and as it runs them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...knowledge.actions import Precondition
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ..execution.bench import Bench, row_of
from ..execution.expected import Expected
from ..execution.judge import judge
from ..execution.resolve import resolve
from ..execution.through import Through
from ..execution.way import Way, Ways
from ..experiment.executor import Block, Instructions
from ..machine import Machine
from ..mitigation.checks import Check
from ..mitigation.engine import Applied, applied
from ..mitigation.kernel_file import KernelRefusal
from ..row import Row
from ..shipped import shipped
from ..subject import Subject
from .cell import Cell
from .level import Level
from .setting import CellSetting, CellSettings, conditions
from .space import Space

if TYPE_CHECKING:
    from ..execution.series import Series


class PreparedCell(NamedTuple):
    """A cell whose settings are ready, or in force."""

    cell: str
    setting: CellSetting
    change: Applied
    undo: ExitStack


@dataclass
class LocalCells:
    """Sets a cell up, proves once that it is in force, runs it, and puts everything back."""

    settings: Callable[[Cell], CellSetting]
    """Raises VgoError where a cell is impossible."""
    machine: Machine
    bench: Bench
    """Its spawner, layers and launcher."""
    layers: Sequence[str] = ()
    """Specs of those that are on in every run."""
    proved: set[str] = field(default_factory=set)
    """Settings that were shown to be in force."""
    longest_s: dict[str, float] = field(default_factory=dict)
    """Of the runs of each cell that ended by themselves."""
    _now: PreparedCell | None = None

    def run(self, cell: Cell) -> Row | None:
        """Run a cell once and give its row; what it sets stays until another cell is run."""
        if self._now is None or self._now.cell != cell.id:
            self.close()
            try:
                setting = self.settings(cell)
            except VgoError as error:
                return refused(_plain(error))
            try:
                self._now = self._prepared(cell, setting)
            except KernelRefusal as error:  # another agent that holds the settings is no matter of the cell
                return refused(_plain(error))
        try:
            failing = self._failing(self._now)
        except VgoError as error:
            return refused(_plain(error))
        if self.bench.deadline.over:
            return None
        if failing:
            return refused(f"not in force: {failing.what} is {failing.seen}, expected {failing.expected}")
        return self._row(self._now)

    def close(self) -> None:
        """Put back what the last cell set."""
        now, self._now = self._now, None
        if now:
            now.undo.close()

    def _prepared(self, cell: Cell, setting: CellSetting) -> PreparedCell:
        with ExitStack() as undo:
            change = undo.enter_context(applied(setting.mitigation, setting.launch, setting.subject, self.machine))
            return PreparedCell(cell.id, setting, change, undo.pop_all())

    def _failing(self, now: PreparedCell) -> Check | None:
        """Switch it on; the first time prove it, with runs that are no part of the data."""
        if now.setting.identity not in self.proved:
            ways = Ways(self.bench.launcher)
            way = ways.of(now.change.launch, ())
            through = Through(self.bench.spawner, ways, self.bench.deadline)
            checks = now.change.prove(through, self._limit_s(now, way))
            if failing := next((check for check in checks if not check.passed), None):
                return failing  # and it is proved anew where it is asked for again
            self.proved.add(now.setting.identity)
        return next((check for check in now.change.on() if not check.passed), None)

    def _limit_s(self, now: PreparedCell, way: Way) -> float | None:
        """When a run is ended: by what other runs of the cell took, since another cell may be another program."""
        shown = Expected(longest_s=self.longest_s.get(now.cell, 0.0)).limit_s()
        limits = [limit for limit in (shown, self.bench.limit_s(way, changed=False)) if limit is not None]
        return min(limits, default=None)

    def _row(self, now: PreparedCell) -> Row | None:
        bench, change, subject = self.bench, now.change, now.setting.subject
        way = Ways(bench.launcher, lambda spec: (bench.layer(spec), bench.probe(spec))).of(
            change.launch, tuple(self.layers)
        )
        own_s = self._limit_s(now, way)
        limit_s = bench.deadline.limit_s(own_s)
        try:
            run = bench.spawner.run(
                way.launch, way.probes, limit_s, capture=subject.metric is not None, on_started=bench.on_started
            )
        except VgoError as error:  # the program, or a condition of its start
            return refused(_plain(error))
        if run.timed_out and limit_s != own_s:
            return None
        if not run.timed_out:
            self.longest_s[now.cell] = max(self.longest_s.get(now.cell, 0.0), run.wall_ns / 1e9)
        judged = judge(run, subject, way.through, limit_s)
        return row_of(run, judged, way, begun=1, reason=judged.failure)


def refused(reason: str) -> Row:
    """Make the row of a cell that could not be begun."""
    return {
        "ok": 0,
        "begun": 0,
        "reason": reason,
        "exit_code": None,
        "survivors": 0,
        "outcome": None,
        "wall_s": 0.0,
        "layers": "",
    }


def _plain(error: VgoError) -> str:
    return str(error).rstrip(".")


class AskedCell(Frozen):
    """One cell."""

    id: str
    values: dict[str, Level]
    subject: Subject | None
    """Its program; None where there is none."""
    why: str = ""
    """Why there is none."""

    @classmethod
    def of(cls, cell: Cell, subject_of: Callable[[Mapping[str, str]], Subject]) -> AskedCell:
        """Say what a host has to know of a cell."""
        try:
            return cls(id=cell.id, values=dict(cell.values), subject=subject_of(cell.texts))
        except VgoError as error:
            return cls(id=cell.id, values=dict(cell.values), subject=None, why=str(error))

    def found(self) -> Subject:
        """Find the program on this machine; raises VgoError where there is none."""
        if self.subject is None:
            raise VgoError(self.why)
        argv = self.subject.argv if self.subject.shell else resolve(self.subject.argv)
        return self.subject.model_copy(update={"argv": argv})


class Cells(Frozen):
    """Some cells of a space."""

    space: Space
    cells: tuple[AskedCell, ...]
    layers: tuple[str, ...] = ()
    """Specs of those that are on in every run."""

    @property
    def asks(self) -> Sequence[Precondition]:
        """What the machine has to be surveyed for."""
        return tuple(conditions(self.space, self._known()))

    def _known(self) -> Mapping[str, Mitigation]:
        return shipped().mitigations if any(one.mitigation for one in self.space.parameters.values()) else {}

    @contextlib.contextmanager
    def opened(self, bench: Bench, machine: Machine, proved: set[str]) -> Iterator[CellsHere]:
        """Run cells with what they set, which is put back at the end."""
        asked = {one.id: one for one in self.cells}

        def setting(cell: Cell) -> CellSetting:
            return CellSettings(self.space, self._known(), machine, lambda texts: asked[cell.id].found()).of(cell)

        executor = LocalCells(setting, machine, bench, self.layers, proved)
        with contextlib.closing(executor):
            yield CellsHere(executor, lambda name: Cell(name, asked[name].values))


class CellRunner(Protocol):
    """Runs cells on this machine."""

    def run(self, cell: Cell) -> Row | None:
        """Run a cell once and give `ok`, `begun`, `reason`, `exit_code`, `survivors`, `outcome`, `wall_s`, `layers` and
        what the layers read; None where the budget ended before the run.
        """


@dataclass(frozen=True)
class CellsHere:
    """Cells as conditions of an experiment on this machine."""

    runner: CellRunner
    cell: Callable[[str], Cell]
    alike: bool = False

    def run(self, series: Series, key: str, pair: int) -> None:
        """Run a cell and keep its row; without one, the budget ended before the run."""
        row = self.runner.run(self.cell(key))
        if row is None:
            series.cut = True
            return
        series.log.append({"order": len(series.rows), "condition": key, "pair": pair, **row})

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """The cell; layers are not told apart."""
        return key, ""

    def told(self, blocks: Sequence[Block]) -> Instructions:
        """Nothing is told to a host."""
        return Instructions()


@dataclass(frozen=True)
class CellsThere:
    """Cells as conditions of an experiment on hosts."""

    space: Space
    subject_of: Callable[[Mapping[str, str]], Subject]
    """Gives the program of a cell by its levels; raises VgoError where there is none."""
    layers: tuple[str, ...]
    cell: Callable[[str], Cell]
    alike: bool = False

    def run(self, series: Series, key: str, pair: int) -> None:
        """Refuse: they run on hosts only."""
        raise AssertionError(key)

    def shown(self, series: Series, key: str) -> tuple[str, str]:
        """The cell; layers are not told apart."""
        return key, ""

    def told(self, blocks: Sequence[Block]) -> Instructions:
        """What the cells of these blocks are."""
        names = dict.fromkeys(key for block in blocks for key in block.order)
        asked = tuple(AskedCell.of(self.cell(name), self.subject_of) for name in names)
        return Instructions(cells=Cells(space=self.space, cells=asked, layers=self.layers))
