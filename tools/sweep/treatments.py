"""Cells of a sweep as a host is told of them, and as it runs them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...knowledge.actions import Precondition
from ...knowledge.errors import VgoError
from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ..execution.bench import Bench
from ..execution.resolve import resolve
from ..experiment.condition import Block
from ..experiment.executor import Instructions
from ..machine import Machine
from ..row import Row
from ..shipped import shipped
from ..subject import Subject
from .cell import Cell
from .level import Level
from .local import LocalCells
from .setting import CellSetting, CellSettings, conditions
from .space import Space

if TYPE_CHECKING:
    from ..execution.series import Series


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
