"""Who runs a cell once and returns its row: this machine, or one day another."""

from __future__ import annotations

from typing import Protocol

from ..row import Row
from .cell import Cell


class Executor(Protocol):
    """Runs cells, one run at a time; may be anywhere."""

    def run(self, cell: Cell) -> Row:
        """Run a cell once and give `ok`, `begun`, `reason`, `exit_code`, `survivors`, `outcome`, `wall_s`, `layers` and
        what the layers read.

        A cell that cannot be set up is no error: its row says `begun` 0, and why. Raises VgoError where no cell could
        be run, or a setting cannot be put back.
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
