"""The report of a finished run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from ....knowledge.errors import VgoError
from ...run_folder import RunFolder
from ..widgets.keys import Keys
from .dialog import Dialog, show_from_thread

if TYPE_CHECKING:
    from ...desk.desk import Desk
    from ...session_view.view import SessionView


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
        try:
            text = (self._folder.path / "report.md").read_text(errors="replace")[:LONGEST]
        except OSError as error:
            text = f"The report cannot be read ({error.strerror})."
        with VerticalScroll():
            yield Markdown(text)
        yield Keys()


class SourceScreen(Dialog[None]):
    """Read it, and go back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back")]
    CSS = """
    SourceScreen { align: center middle; }
    SourceScreen > VerticalScroll { width: 95%; height: 90%; border: solid $primary; background: $surface; }
    """

    def __init__(self, desk: Desk, view: SessionView, source: Mapping[str, Any]) -> None:
        super().__init__()
        self._desk, self._view, self._source = desk, view, source

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown(self._of_run())
        yield Keys()

    def on_mount(self) -> None:
        self._find()

    @work(thread=True)
    def _find(self) -> None:
        source = self._source
        texts = source.get("sources") or [""]
        try:
            found = [self._desk.ask("source", about=source.get("about", ""), text=text) for text in texts]
        except VgoError as error:
            found = [{"markdown": str(error)}]
        pages = [self._of_run(), *(one["markdown"] for one in found)]
        show_from_thread(self, self._show, "\n\n".join(filter(None, pages)))

    def _show(self, markdown: str) -> None:
        self.query_one(Markdown).update(markdown)

    def _of_run(self) -> str:
        steps = [step for step in self._view.steps if step.call_id in self._source.get("calls", ())]
        return "\n\n".join(f"**{step.title}** ({step.call_id}, event {step.seq}): {step.summary}" for step in steps)
