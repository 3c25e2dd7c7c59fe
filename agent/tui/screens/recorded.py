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
from textual.widgets import Static

from ....knowledge.errors import VgoError
from ...look.of_session import figures_of
from ...terminal import printable, speaks_unicode
from ..widgets.figure_view import FigureView
from ..widgets.keys import Keys
from .dialog import Dialog, show_from_thread

if TYPE_CHECKING:
    from ...chat.session import ChatSession


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
