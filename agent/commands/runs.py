"""runs: a table of the runs so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .options import Answering

if TYPE_CHECKING:
    from ..history import ListedRun

HEADER = ("when", "verdict", "factor", "ratio", "command", "folder")
LONGEST_COMMAND = 40


@dataclass(frozen=True, kw_only=True)
class RunsCommand(Answering):
    """A table of the runs so far."""

    EPILOG = """\
example:
  vgo-agent runs --out vgo-runs

The newest comes first. RATIO is what decided: the spread with the mitigation, as a share of the spread without.
"""
    SETTINGS = ("out",)

    def run(self) -> int:
        """List."""
        from ...tools.document import Table
        from ..history import history

        settings = self.in_force()
        runs = history(settings.out)
        none = f"There are no runs in {settings.out} yet; `vgo-agent demo` makes one."
        shown = Table(HEADER, [_row(one) for one in runs]) if runs else none
        return self.answer({"out": str(settings.out), "runs": [one._asdict() for one in runs]}, [shown])


def _row(one: ListedRun) -> tuple[str, ...]:
    command = one.command if len(one.command) <= LONGEST_COMMAND else f"{one.command[: LONGEST_COMMAND - 3]}..."
    return *one.cells, command, one.folder
