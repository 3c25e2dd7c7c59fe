"""The runs so far: open, resume, compare two, delete. Gives the line that the chat is to do."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from ....knowledge.errors import VgoError
from ...chat.past_runs import HEADER, row
from ...history import ListedRun, history
from ...terminal import printable
from ..widgets.header import Keys
from .dialogs import DeleteScreen, Dialog, show_from_thread

if TYPE_CHECKING:
    from ...chat.session import ChatSession

PAIR = 2
EMPTY = "There are no runs in {out} yet. Escape goes to the chat; /diagnose COMMAND begins one."
TOLD = "enter opens, r resumes, space marks, c compares the two that are marked, d deletes"


class StartScreen(Dialog[str]):
    """A table of runs, newest first; leaving it without a choice gives an empty line."""

    HELP_WORDS = TOLD
    FOCUSED = "DataTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", show=True),
        Binding("r", "resume", "Resume"),
        Binding("space", "mark", "Mark"),
        Binding("c", "compare", "Compare"),
        Binding("d,delete", "delete", "Delete"),
        Binding("escape,n", "dismiss('')", "Chat"),
    ]
    CSS = """
    StartScreen { background: $background; }
    StartScreen #title { background: $panel; text-style: bold; padding: 0 1; height: 1; }
    StartScreen DataTable { height: 1fr; }
    StartScreen #note { height: auto; max-height: 3; padding: 0 1; background: $panel; }
    """

    def __init__(self, session: ChatSession) -> None:
        super().__init__()
        self._session = session
        self._runs: list[ListedRun] = []
        self._marked: list[str] = []

    def compose(self) -> ComposeResult:
        """Title, table, and a line that says more of the run under the cursor."""
        yield Static(Text(f"Runs in {printable(str(self._session.out))}"), id="title")
        yield DataTable(cursor_type="row", zebra_stripes=True)
        yield Static("Reading ...", id="note", markup=False)
        yield Keys()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("", *HEADER)
        self.read()

    @work(thread=True, exclusive=True)
    def read(self) -> None:
        try:
            found, failure = history(self._session.out), ""
        except VgoError as error:
            found, failure = [], str(error)
        show_from_thread(self, self._fill, found, failure)

    def _fill(self, found: list[ListedRun], failure: str = "") -> None:
        self._runs = found
        names = [str(one.folder) for one in found]
        self._marked = [name for name in self._marked if name in names]
        table = self.query_one(DataTable)
        at = table.cursor_row
        table.clear()
        for one in found:
            mark = str(self._marked.index(str(one.folder)) + 1) if str(one.folder) in self._marked else " "
            table.add_row(*(Text(printable(cell)) for cell in (mark, *row(one))), key=str(one.folder))
        table.move_cursor(row=min(at, max(0, len(found) - 1)))
        words = failure or ("" if found else EMPTY.format(out=self._session.out))
        self.call_after_refresh(self._note, words)  # after the cursor has moved, which says something too

    def on_data_table_row_highlighted(self) -> None:
        self._note()

    def on_data_table_row_selected(self) -> None:
        self.action_open()

    def _note(self, words: str = "") -> None:
        one = self._current
        about = f"{one.command}. {one.note}" if one and one.note else (one.command if one else "")
        self.query_one("#note", Static).update(Text(printable(words or about or TOLD)))

    @property
    def _current(self) -> ListedRun | None:
        at = self.query_one(DataTable).cursor_row
        return self._runs[at] if 0 <= at < len(self._runs) else None

    def action_open(self) -> None:
        one = self._current
        if one is None:
            return
        if one.can_open or one.can_resume:
            self.dismiss(f"/open {quote(str(one.folder))}")
        else:
            self._note(f"It cannot be opened. {one.note}")

    def action_resume(self) -> None:
        one = self._current
        if one is not None and one.can_resume:
            self.dismiss(f"/resume {quote(str(one.folder))}")
        elif one is not None:
            self._note(one.note or "It has its verdict: there is nothing to resume; enter opens it.")

    def action_mark(self) -> None:
        """Mark the run under the cursor, or take its mark away; two can be marked, the first is the baseline."""
        one = self._current
        if one is None:
            return
        name = str(one.folder)
        if name in self._marked:
            self._marked.remove(name)
        else:
            self._marked = [*self._marked, name][-PAIR:]
        self._fill(self._runs)

    def action_compare(self) -> None:
        if len(self._marked) == PAIR:
            self.dismiss(f"/compare {' '.join(map(quote, self._marked))}")
        else:
            self._note("Mark two runs with space first; the first one is the baseline.")

    def action_delete(self) -> None:
        one = self._current
        if one is None:
            return
        self.app.push_screen(DeleteScreen(one), self._delete)

    def _delete(self, line: str | None) -> None:
        if line:
            self._do(line)

    @work(thread=True)
    def _do(self, line: str) -> None:
        from ...chat.actions import do

        reply = do(self._session, line)
        found = history(self._session.out)
        show_from_thread(self, self._fill, found, reply.text)
