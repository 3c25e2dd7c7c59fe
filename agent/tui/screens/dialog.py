"""What every screen above a run has in common: help and leaving work there as they do below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, ParamSpec, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

Given = TypeVar("Given")
Shown = ParamSpec("Shown")


def show_from_thread(
    screen: Screen[Given], show: Callable[Shown, object], *args: Shown.args, **kwargs: Shown.kwargs
) -> None:
    """Call `show` in the thread of the app, unless the screen was left while its worker looked for what to show."""
    if screen.is_attached:
        app: App[object] = screen.app
        app.call_from_thread(lambda: show(*args, **kwargs) if screen.display else None)


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
