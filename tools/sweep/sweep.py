"""The sweep itself: cells in random rounds, until each is known well enough or the budget is spent."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from ..execution.deadline import NEVER, Deadline
from ..experiment.condition import BARRIER, Block
from ..one_level import Level, host_levels, on_one_level
from ..row import Row
from .adaptive import Told, propose, response_of
from .cell import Cell
from .designs import first_cells
from .executor import Executor
from .rounds import Rounds
from .space import Space
from .standing import Standing, given_up, standing, wants_more

SERIES = ("order", "condition", "pair")
"""Columns of a series that a sweep has words of its own for."""


class Log(Protocol):
    """Rows that survive the death of this process."""

    rows: list[Row]

    def append(self, *rows: Row) -> None:
        """Keep them."""


@dataclass
class Sweep:
    """A walk through a space; what the two logs hold is its beginning."""

    space: Space
    seed: int
    executor: Executor
    drawn: Log
    """Cells, as they were chosen."""
    ran: Log
    """Runs, as they were made."""
    listener: Callable[[Sweep, Cell, Row], None] = lambda sweep, cell, row: None
    """Called after each run."""
    deadline: Deadline = NEVER
    """When the seconds of the budget are used by the clock; where none runs, those of the program count."""
    told: tuple[str, ...] = ()
    """What was dropped of the design."""
    ended: str = ""
    """Why it ended, in words; empty where it was cut short."""
    cells: list[Cell] = field(default_factory=list)
    """Those so far, in the order in which they were chosen."""
    runs: int = 0
    """That were begun."""
    spent_s: float = 0.0
    """Of the program."""
    _rows: dict[str, list[Row]] = field(default_factory=dict)
    _leveled: tuple[int, Mapping[str, Level]] = -1, MappingProxyType({})
    _stopped: str = ""
    """Which limit was reached."""

    def __post_init__(self) -> None:
        """Take up what an earlier process left."""
        self.cells = [Cell(**{**row, "batch": one["batch"]}) for one in self.drawn.rows for row in one["cells"]]
        for row in self.ran.rows:
            self._count(row)

    def rows(self, cell: Cell) -> Sequence[Row]:
        """Runs of a cell so far; those of many hosts on one level."""
        own = self._rows.get(cell.id, [])
        return on_one_level(own, self._levels()) if self.executor.whole else own

    def standing(self, cell: Cell) -> Standing:
        """Sum a cell up."""
        return standing(self.rows(cell))

    def cell(self, name: str) -> Cell:
        """Find a cell by its id."""
        return self.cells[int(name[1:]) - 1]

    def go(self) -> str:
        """Run until nothing is left to do; give the reason why it ended."""
        self.executor.carry_out(self._blocks(), self)
        self.ended = self._stopped or self._spent() or "every cell is known well enough, or has all its runs"
        return self.ended

    def enough(self) -> bool:
        """Tell whether a limit is reached."""
        self._stopped = self._spent()
        return bool(self._stopped)

    def _blocks(self) -> Iterator[Block]:
        for batch in self._batches():
            if not self.executor.whole:
                yield from (Block(number, (cell.id,)) for cell, number in self._rounds(batch))
                continue
            yield from Rounds(self, batch).blocks()
            yield BARRIER
            if self._spent():
                return

    def _levels(self) -> Mapping[str, Level]:
        """How the outcomes of each host come to the level of all; found again when runs have been added."""
        if self._leveled[0] != len(self.ran.rows):
            self._leveled = len(self.ran.rows), host_levels(self.ran.rows, "cell")
        return self._leveled[1]

    def _batches(self) -> Iterator[list[Cell]]:
        """Give the cells batch by batch: those that were drawn before first, then new ones."""
        first = first_cells(self.space, self.seed)
        self.told = first.told
        if not self.cells:
            self._draw([(values, "") for values in first.cells], 0)
        for number in itertools.count():
            batch = [cell for cell in self.cells if cell.batch == number]
            if not batch and not (batch := self._next(number)):
                return
            yield batch

    def _next(self, number: int) -> list[Cell]:
        """Choose the next batch of an adaptive design; none where it has its cells."""
        design = self.space.design
        room = min(design.batch, design.cells - len(self.cells))
        if design.kind != "adaptive" or room < 1:
            return []
        better = not self.space.higher_is_better
        told = [Told(cell.values, self._response(cell, better)) for cell in self.cells]
        proposals = propose(self.space, told, room, design.seek, self.seed)
        return self._draw(proposals, number)

    def _response(self, cell: Cell, lower_is_better: bool) -> float | None:
        stands = self.standing(cell)
        if stands.reason or stands.summary is None:
            return None
        return response_of(stands.summary.model_dump(), self.space.design.response, lower_is_better)

    def _draw(self, chosen: Sequence[tuple[Any, str]], batch: int) -> list[Cell]:
        """Number cells and keep them, all at once, so that a killed process leaves a batch whole or not at all."""
        begin = len(self.cells) + 1
        cells = [Cell(f"c{place:04d}", values, batch, why) for place, (values, why) in enumerate(chosen, begin)]
        if cells:
            self.drawn.append({"batch": batch, "cells": [cell.row() for cell in cells]})
            self.cells += cells
        return cells

    def _rounds(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, int]]:
        """Give cells round by round, each time in another order, so that drift does not load on a cell.

        Whether a cell goes on is decided by the rounds before, so that a killed sweep goes on as it would have gone.
        """
        live, asked = list(cells), self.space.repetitions
        block = asked.block or 1
        for number in itertools.count():
            live = [cell for cell in live if wants_more(self.rows(cell)[: number * block], asked)]
            if not live:
                return
            coin = random.Random(f"{self.seed}:{cells[0].batch}:{number}")
            for cell in coin.sample(live, len(live)):
                while len(self.rows(cell)) < min((number + 1) * block, asked.most) and not given_up(self.rows(cell)):
                    yield cell, number

    def _spent(self) -> str:
        """Say which limit is reached; empty while none is."""
        budget = self.space.budget
        if budget.runs is not None and self.runs >= budget.runs:
            return f"the budget of {budget.runs} runs is spent"
        used = self.deadline.over if self.deadline.counts else budget.seconds and self.spent_s >= budget.seconds
        if budget.seconds is not None and used:
            return f"the budget of {budget.seconds:g} s is spent"
        return ""

    def keep(self, row: Row) -> None:
        """Keep a run, and tell of it."""
        cell, plain = self.cell(row["condition"]), {name: row[name] for name in row if name not in SERIES}
        kept = {"order": len(self.ran.rows), "cell": cell.id, "batch": cell.batch, "round": row["pair"], **plain}
        self.ran.append(kept)
        self._count(kept)
        self.listener(self, cell, kept)

    def _count(self, row: Row) -> None:
        self._rows.setdefault(str(row["cell"]), []).append(row)
        self.runs += row["begun"]
        self.spent_s += row["wall_s"]

    @property
    def impossible(self) -> bool:
        """Tell whether every cell was given up."""
        return bool(self.cells) and all(given_up(self.rows(cell)) for cell in self.cells)
