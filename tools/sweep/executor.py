"""Who runs the cells of a sweep: this machine one by one, or the hosts of a cluster round by round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..experiment.condition import Block
from ..row import Row
from .cell import Cell


class Walk(Protocol):
    """The sweep that cells are run for."""

    seed: int

    def cell(self, name: str) -> Cell:
        """Find a cell by its id, which is the condition of a turn."""

    def keep(self, row: Row) -> None:
        """Keep a run: `condition` is the cell and `pair` the round."""

    def enough(self) -> bool:
        """Tell whether a limit is reached."""


class Executor(Protocol):
    """Has cells run."""

    @property
    def whole(self) -> bool:
        """A round is one block, and several are on their way at once; else it is asked what is next after each run."""

    def carry_out(self, blocks: Iterable[Block], walk: Walk) -> None:
        """Run the blocks until there are none or it is enough; put everything back at the end.

        A cell that cannot be set up is no error: its row says `begun` 0, and why. Raises VgoError where no cell could
        be run, or a setting cannot be put back.
        """


class Runs(Protocol):
    """Runs cells on this machine."""

    def run(self, cell: Cell) -> Row | None:
        """Run a cell once and give `ok`, `begun`, `reason`, `exit_code`, `survivors`, `outcome`, `wall_s`, `layers` and
        what the layers read; None where the budget ended before the run.
        """

    def close(self) -> None:
        """Put back what the last cell set, which may stay while that cell is run again."""


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
