"""What every screen above a run has in common: help and leaving work there as they do below it."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

Given = TypeVar("Given")


class Dialog(ModalScreen[Given]):
    """Textual takes the keys of the app away from a modal screen; these give them back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("ctrl+q", "app.quit", "Leave"),
    ]
    HELP_WORDS: ClassVar[str] = "Escape goes back."
    """What F1 says."""

    def action_help(self) -> None:
        """Say what can be done here."""
        self.notify(self.HELP_WORDS, title="Help", markup=False, timeout=15)
