"""Recorded runs side by side: the answer, the distribution of each arm over the first, a table, all the words."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown, Static

from ....knowledge.errors import VgoError
from ...look.of_session import figures_of
from ...run_folder import RunFolder
from ...terminal import printable, speaks_unicode
from ..widgets.figure_view import FigureView
from ..widgets.header import Keys
from .dialogs import Dialog, show_from_thread

if TYPE_CHECKING:
    from ...chat.session import ChatSession
    from ...desk.desk import Desk
    from ...session_view.view import SessionView


class RecordedScreen(Dialog[None]):
    """Look, and go back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back")]
    FOCUSED = "FigureView"
    CSS = """
    RecordedScreen { background: $background; }
    RecordedScreen #headline { background: $panel; text-style: bold; padding: 0 1; height: auto; }
    RecordedScreen #arms { margin: 1 0; }
    RecordedScreen VerticalScroll { padding: 0 1; }
    RecordedScreen FigureView { height: 16; }
    """

    def __init__(self, session: ChatSession, paths: Sequence[str], metric: str = "") -> None:
        """Take what to compare, and by which column; the first path is the baseline."""
        super().__init__()
        self._session, self._paths, self._metric = session, list(paths), metric

    def compose(self) -> ComposeResult:
        yield Static("Reading ...", id="headline", markup=False)
        with VerticalScroll():
            yield FigureView(fancy=speaks_unicode(sys.__stdout__ or sys.stdout))
            yield Static("", id="arms")
            yield Static("", id="words", markup=False)
        yield Keys()

    def on_mount(self) -> None:
        self._ask()

    @work(thread=True)
    def _ask(self) -> None:
        try:
            given = self._session.desk.ask("recorded", paths=self._paths, metric=self._metric)
        except VgoError as error:
            given = {"headline": str(error), "words": "", "header": [], "rows": [], "arms": {}, "unit": ""}
        show_from_thread(self, self._show, given)

    def _show(self, given: Mapping[str, Any]) -> None:
        self.query_one("#headline", Static).update(Text(printable(given["headline"])))
        words = given["words"].removeprefix(given["headline"]).strip("\n").split("\n")
        self.query_one("#words", Static).update(Text("\n".join(map(printable, words))))
        if given["rows"]:
            arms = Table(*given["header"], box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for one in given["rows"]:
                arms.add_row(*(Text(printable(cell)) for cell in one))
            self.query_one("#arms", Static).update(arms)
        view = self.query_one(FigureView)
        if given["arms"]:
            view.show(*figures_of(given))
        else:
            view.display = False
            self.query_one(VerticalScroll).focus()


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

    def _show(self, page: str) -> None:
        """Look for the widget here: in the thread that found the page the screen may have lost it."""
        self.query_one(Markdown).update(page)

    def _of_run(self) -> str:
        steps = [step for step in self._view.steps if step.call_id in self._source.get("calls", ())]
        return "\n\n".join(f"**{step.title}** ({step.call_id}, event {step.seq}): {step.summary}" for step in steps)
