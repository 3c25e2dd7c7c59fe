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
    FOCUSED: ClassVar[str] = "VerticalScroll"
    """What has the keys at first, even where the terminal itself has lost the focus meanwhile."""

    def on_mount(self) -> None:
        self.query_one(self.FOCUSED).focus()

    def action_help(self) -> None:
        self.notify(self.HELP_WORDS, title="Help", markup=False, timeout=15)
