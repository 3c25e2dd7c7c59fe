"""The rounds of a sweep on many hosts: each is made on one, and the next is drawn while others are on their way."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..experiment.condition import BARRIER, Block
from .cell import Cell
from .standing import wants_more

if TYPE_CHECKING:
    from .sweep import Sweep


@dataclass
class Rounds:
    """Rounds of one batch of cells; rows that are there are its beginning."""

    sweep: Sweep
    cells: Sequence[Cell]
    _given: Counter[str] = field(default_factory=Counter)
    """Runs of each cell, those on their way among them."""
    _seen: Counter[str] = field(default_factory=Counter)
    """Runs of each cell after which it was asked whether they are enough."""
    _ended: set[str] = field(default_factory=set)
    _drawn: int = 0
    """Runs that were drawn here."""
    _before: int = 0
    """Runs that were there before."""

    def blocks(self) -> Iterator[Block]:
        """Give round by round, each in another order, until no cell wants more or the runs are spent."""
        self._before = len(self.sweep.ran.rows)
        self._given.update({cell.id: len(self.sweep.rows(cell)) for cell in self.cells})
        first = 1 + max((row["round"] for cell in self.cells for row in self.sweep.rows(cell)), default=-1)
        for number in itertools.count(first):
            live = self._live()
            if live and self._room() == 0 and self._on_their_way:
                yield BARRIER  # some of them may not begin, and leave room for others
                live = self._live()
            order = self._round(live, number)[: self._room()]
            if not order:
                return
            self._drawn += len(order)
            self._given.update(order)
            yield Block(number, order)

    def _round(self, live: Sequence[Cell], number: int) -> tuple[str, ...]:
        asked = self.sweep.space.repetitions
        coin = random.Random(f"{self.sweep.seed}:{self.cells[0].batch}:{number}")
        return tuple(
            cell.id
            for cell in coin.sample(live, len(live))
            for _ in range(min(asked.block or 1, asked.most - self._given[cell.id]))
        )

    def _live(self) -> list[Cell]:
        return [cell for cell in self.cells if self._goes_on(cell)]

    def _goes_on(self, cell: Cell) -> bool:
        """Tell whether a cell is in the next round; it is asked of as many of its runs as it would be one by one."""
        asked, rows = self.sweep.space.repetitions, self.sweep.rows(cell)
        while cell.id not in self._ended and self._seen[cell.id] < len(rows):
            self._seen[cell.id] += 1
            if not wants_more(rows[: self._seen[cell.id]], asked):
                self._ended.add(cell.id)
        return cell.id not in self._ended and self._given[cell.id] < asked.most

    @property
    def _on_their_way(self) -> int:
        return self._drawn - (len(self.sweep.ran.rows) - self._before)

    def _room(self) -> int | None:
        """Runs that the budget leaves; None where there is none."""
        budget = self.sweep.space.budget.runs
        return None if budget is None else max(0, budget - self.sweep.runs - self._on_their_way)
