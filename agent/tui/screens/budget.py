"""How far to go: minutes and runs, which can be changed while it runs."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup, Vertical
from textual.widgets import Button, Input, Label

from ...session_view.view import SessionView
from ..widgets.keys import Keys
from .dialog import Dialog


class BudgetDialog(Dialog[str]):
    """Gives the command that sets the budget; None where it is left as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Leave it")]
    FOCUSED = "#minutes"
    HELP_WORDS = "Enter sets both numbers, from the next step on; Escape leaves them as they are."
    CSS = """
    BudgetDialog { align: center middle; }
    BudgetDialog > Vertical { width: 60; max-width: 95%; height: auto; border: thick $primary; background: $surface;
        padding: 0 1; }
    BudgetDialog Button { margin: 0 1 0 0; }
    BudgetDialog HorizontalGroup { height: auto; }
    """

    def __init__(self, view: SessionView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        limits, spent = self._view.limits, self._view.used_s
        with Vertical():
            yield Label(f"Used: {spent / 60:.1f} of {limits.budget_s / 60:g} minutes by the clock.")
            yield Label("Minutes:")
            yield Input(f"{limits.budget_s / 60:g}", type="number", id="minutes", compact=True)
            yield Label("Runs of one condition at most:")
            yield Input(str(limits.max_runs), type="integer", id="runs", compact=True)
            yield Label("It holds from the next step on.")
            with HorizontalGroup():
                yield Button("Set", id="set", variant="primary", compact=True)
                yield Button("Leave it", id="leave", compact=True)
        yield Keys()

    def on_input_submitted(self) -> None:
        self._set()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "set":
            self._set()
        else:
            self.dismiss(None)

    def _set(self) -> None:
        minutes, runs = (self.query_one(f"#{name}", Input).value for name in ("minutes", "runs"))
        self.dismiss(f"/budget {minutes} {runs}")
