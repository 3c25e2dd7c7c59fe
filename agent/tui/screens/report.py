"""The report of a finished run."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from ...run_folder import RunFolder
from ..widgets.keys import Keys
from .dialog import Dialog

LONGEST = 200_000
"""Characters."""


class ReportScreen(Dialog[None]):
    """Read it, and go back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back")]
    CSS = """
    ReportScreen > VerticalScroll { width: 100%; height: 1fr; background: $surface; }
    """

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self._folder = folder

    def compose(self) -> ComposeResult:
        """One page."""
        try:
            text = (self._folder.path / "report.md").read_text(errors="replace")[:LONGEST]
        except OSError as error:
            text = f"The report cannot be read ({error.strerror})."
        with VerticalScroll():
            yield Markdown(text)
        yield Keys()
