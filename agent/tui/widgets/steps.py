"""A table of the steps: what, how it ended, how long, and what it gave."""

from __future__ import annotations

from ...look.scenes import SmallTable
from ...session_view.view import SessionView
from ..messages import StepAsked
from .sorted_table import SortedTable

MARKS = {"chosen": "..", "going on": "..", "done": "ok", "failed": "no", "denied": "--"}
HEADER = ("id", "", "step", "s", "result")


class StepsTable(SortedTable):
    """One row a step; enter opens it."""

    def show_steps(self, view: SessionView) -> None:
        """Fill it anew: there are few."""
        rows = tuple(
            (step.call_id, MARKS[step.state], step.title, _tenths(step.seconds), step.summary) for step in view.steps
        )
        self.show(SmallTable(HEADER, rows))

    def on_data_table_cell_selected(self) -> None:
        """Ask for the step."""
        call_id = self.row_at_cursor[0] if self.row_at_cursor else None
        if call_id is not None:
            self.post_message(StepAsked(str(call_id)))


def _tenths(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
