"""A table of the steps: what, how it ended, how long, and what it gave."""

from __future__ import annotations

from textual.widgets import DataTable

from ...session_view.view import SessionView
from ..messages import StepAsked

MARKS = {"chosen": "..", "going on": "..", "done": "ok", "failed": "no", "denied": "--"}


class Steps(DataTable[str]):
    """One row a step; enter opens it."""

    def on_mount(self) -> None:
        """Name the columns."""
        self.cursor_type = "row"
        self.add_columns("", "step", "s", "result")

    def show(self, view: SessionView) -> None:
        """Fill it anew: there are few."""
        at = self.cursor_row
        self.clear()
        for step in view.steps:
            seconds = "" if step.seconds is None else f"{step.seconds:.1f}"
            self.add_row(MARKS[step.state], step.title, seconds, step.summary, key=step.call_id)
        self.move_cursor(row=min(at, max(0, self.row_count - 1)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Ask for the step."""
        self.post_message(StepAsked(str(event.row_key.value)))
