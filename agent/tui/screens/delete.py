"""The question before a run is deleted."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup, VerticalGroup
from textual.widgets import Button, Static

from ...history import ListedRun
from ...past.deletion import size
from ...terminal import printable
from ..widgets.keys import Keys
from .dialog import Dialog


class DeleteScreen(Dialog[str]):
    """Gives the line that deletes it, or an empty one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "Keep")]
    FOCUSED = "#keep"
    HELP_WORDS = "Escape keeps the run. Tab and Enter press a button; letters do nothing."
    CSS = """
    DeleteScreen { align: center middle; }
    DeleteScreen > VerticalGroup { width: 90%; max-width: 90; border: thick $error; background: $surface; }
    DeleteScreen Static { padding: 0 1; }
    DeleteScreen Button { margin: 0 1 0 0; min-width: 8; height: 1; border: none; }
    """

    def __init__(self, one: ListedRun) -> None:
        super().__init__()
        self._one = one

    def compose(self) -> ComposeResult:
        one = self._one
        made = f" of {one.minute}" if one.when else ""
        lines = [
            f"Delete the run{made}?",
            f"  {one.command or 'unknown command'}: {one.verdict}",
            f"  {one.folder}, {size(Path(one.folder)) / 1e6:.1f} MB",
            "It cannot be had back.",
        ]
        with VerticalGroup():
            yield Static(Text("\n".join(map(printable, lines))))
            with HorizontalGroup():
                yield Button("Keep it", id="keep")
                yield Button("Delete it", id="delete", variant="error")
        yield Keys()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(f"/delete {quote(self._one.folder)} yes" if event.button.id == "delete" else "")
