"""The sweep itself: cells in random rounds, until each is known well enough or the budget is spent."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..execution.expected import NEVER, Deadline
from ..execution.row_log import Listener, Remark, RowsInMemory, ignore
from ..execution.series import BARRIER, Block, ExperimentConditions, Measuring, Series
from ..experiment.conditions import Condition
from ..experiment.experiment import Done, Experiment, carry_out
from ..hosts import HostAdjustment, host_levels, on_one_level
from ..row import Row
from .cell import Cell, CellSettings, Standing, SubjectOf, first_cells, given_up, look_due, response_of, standing
from .space import Space


@dataclass
class Sweep:
    """A walk through a space; what the two logs hold is its beginning. A schedule whose conditions are cells."""

    space: Space
    seed: int
    drawn: RowsInMemory
    """Cells, as they were chosen."""
    ran: RowsInMemory
    """Runs, as they were made: `condition` is the cell and `pair` the round."""
    hosts: bool = False
    """It runs on the hosts of a cluster: a round is made on one of them, and several are on their way at once."""
    listener: Listener = ignore
    """Hears of cells that are given up."""
    deadline: Deadline = NEVER
    """When the seconds of the budget are used by the clock; where none runs, those of the program count."""
    told: tuple[str, ...] = ()
    """What was dropped of the design."""
    ended: str = ""
    """Why it ended, in words; empty where it was cut short."""
    cells: list[Cell] = field(default_factory=list)
    """Those so far, in the order in which they were chosen."""
    numbers: int = field(init=False)
    """Rounds of a cell at most; one that was torn is made again by a number beyond."""
    _journal: int = field(init=False)
    """Rows that were there before; what they tell of cells was told then."""
    _seen: int = 0
    _begun: int = 0
    _rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    _leveled: tuple[int, Mapping[str, HostAdjustment]] = -1, MappingProxyType({})
    _given: int = 0
    """Runs in the rounds so far, of the schedule from its start."""
    _complete: bool = False
    """The schedule has come to its end."""

    def __post_init__(self) -> None:
        asked = self.space.repetitions
        self.numbers, self._journal = -(-asked.most // (asked.block or 1)), len(self.rows)
        self.cells = [Cell(**{**row, "batch": one["batch"]}) for one in self.drawn.rows for row in one["cells"]]

    @property
    def rows(self) -> list[Row]:
        """Runs so far, in the order in which they were kept."""
        return self.ran.rows

    @property
    def runs(self) -> int:
        """Those that were begun."""
        self._look()
        return self._begun

    @property
    def spent_s(self) -> float:
        """Of the program."""
        return float(sum(row["wall_s"] for row in self.rows))

    def rows_of(self, cell: Cell) -> Sequence[Row]:
        """Runs of a cell so far; those of many hosts on one level."""
        self._look()
        own = self._rows[cell.id]
        return on_one_level(own, self._levels()) if self.hosts else own

    def standing(self, cell: Cell) -> Standing:
        """Sum a cell up."""
        return standing(self.rows_of(cell))

    def cell(self, name: str) -> Cell:
        """Find a cell by its id."""
        return self.cells[int(name[1:]) - 1]

    def go(self, bench: Measuring, conditions: ExperimentConditions, layers: Sequence[str] = ()) -> str:
        """Run until nothing is left to do; give the reason why it ended."""
        series = Series(bench, f"sweep-{self.seed}", tuple(layers), self.ran, 0)
        stopped = carry_out(Experiment(conditions, self, self._spent), series)
        left = f"the budget of {self.deadline.budget_s:g} s is spent"
        self.ended = stopped or ("every cell is known well enough, or has all its runs" if self._complete else left)
        return self.ended

    def blocks(self, done: Done) -> Iterator[Block]:
        """Give the rounds of one batch of cells after the other."""
        self._given, self._complete = 0, False
        for batch in self._batches():
            yield from self._rounds(batch, done)
            yield BARRIER
        self._complete = True

    def _levels(self) -> Mapping[str, HostAdjustment]:
        """How the outcomes of each host come to the level of all; found again when runs have been added."""
        if self._leveled[0] != len(self.rows):
            self._leveled = len(self.rows), host_levels(self.rows)
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
        from .adaptive import MeasuredCell, propose  # scikit-learn is dear to load, and few designs are adaptive

        better = not self.space.higher_is_better
        told = [MeasuredCell(cell.values, self._response(cell, better)) for cell in self.cells]
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

    def _rounds(self, cells: Sequence[Cell], done: Done) -> Iterator[Block]:
        """Give round by round, each time in another order, so that drift does not load on a cell.

        A cell that cannot be run ends with the round; whether one is known is asked when all its runs have landed.
        """
        live, asked = [cell.id for cell in cells], self.space.repetitions
        block = asked.block or 1
        for number in range(self.numbers):
            runs = min(block, asked.most - number * block)
            look = look_due(number * block, asked)
            if look:
                yield BARRIER
            live = self._left(live, done(), look)
            coin = random.Random(f"{self.seed}:{cells[0].batch}:{number}")
            order = tuple(cell for cell in coin.sample(live, len(live)) for _ in range(runs))
            if self.hosts:
                yield from self._whole(number, order)
            else:
                yield from (Block(number, (cell,)) for cell in order if not given_up(self.rows_of(self.cell(cell))))
            if not live:
                return

    def _left(self, live: Sequence[str], rows: Sequence[Row], look: bool) -> list[str]:
        """Leave out the cells that cannot be run and, at a look, those that are known."""
        made = by_cell(rows)
        live = [one for one in live if not given_up(made[one])]
        if not look:
            return live
        level = by_cell(on_one_level(rows)) if self.hosts else made
        return [one for one in live if not self._known(made[one], standing(level[one]))]

    def _known(self, rows: Sequence[Row], stands: Standing) -> bool:
        """Tell whether there are enough runs; a few may be equal only since their hosts were brought to one level."""
        return stands.enough(self.space.repetitions) and (not stands.steady or standing(rows).steady)

    def _whole(self, number: int, order: tuple[str, ...]) -> Iterator[Block]:
        """Give a round as one block, as far as the budget has runs for it."""
        if self._room() == 0:
            yield BARRIER  # some of those on their way may not begin, and leave room for others
        if order := order[: self._room()]:
            self._given += len(order)
            yield Block(number, order)

    def _room(self) -> int | None:
        """Runs that the budget leaves; None where there is none."""
        budget, refused = self.space.budget, sum(not row["begun"] for row in self.rows)
        return None if budget.runs is None else max(0, budget.runs + refused - self._given)

    def _spent(self, series: Series) -> str:
        """Say which limit is reached; empty while none is."""
        budget = self.space.budget
        if budget.runs is not None and self.runs >= budget.runs:
            return f"the budget of {budget.runs} runs is spent"
        used = self.deadline.over if self.deadline.counts else budget.seconds and series.spent_s >= budget.seconds
        if budget.seconds is not None and used:
            return f"the budget of {budget.seconds:g} s is spent"
        return ""

    def _look(self) -> None:
        """Take in the runs since the last look, and tell which cells were given up."""
        first, self._seen = self._seen, len(self.rows)
        for place, row in enumerate(self.rows[first:], first):
            cell = self.cell(row["condition"])
            before = place < self._journal or row["ok"] or given_up(self._rows[cell.id])
            self._rows[cell.id].append(row)
            self._begun += row["begun"]
            if not before and (reason := given_up(self._rows[cell.id])):
                self.listener(Remark(f"  {cell.id} ({cell.name}) is given up: {reason}"))

    @property
    def impossible(self) -> bool:
        """Tell whether every cell was given up."""
        return bool(self.cells) and all(given_up(self.rows_of(cell)) for cell in self.cells)


@dataclass
class CellConditions(dict[str, Condition]):
    """Conditions of the cells of a sweep, made when they are first run."""

    sweep: Sweep
    subject_of: SubjectOf

    def __missing__(self, name: str) -> Condition:
        """Find the program of a cell."""
        cell = CellSettings.of(self.sweep.space, self.sweep.cell(name).values, self.subject_of)
        self[name] = Condition(name=name, cell=cell)
        return self[name]


def by_cell(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Gather rows by cell; none for a cell that has none."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["condition"]].append(row)
    return found
