"""Everything that is looked at, as tabs; the cut that is moved here is relabelled and refitted in other processes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.timer import Timer
from textual.widgets import Static, TabbedContent, TabPane

from ...look.computer import Computers
from ...look.messages import (
    ColumnRead,
    Failed,
    FindShape,
    LookAnswer,
    LookQuestion,
    OpenedTable,
    OpenFile,
    ReadColumn,
    ReadPage,
    Refit,
    Refitted,
    Shaped,
    TablePage,
)
from ...look.scenes import Looking, Overlay, Scatter
from ...look.what_if import WhatIf, ranking
from ...terminal import speaks_unicode
from .distribution_view import DistributionView
from .look_messages import CutKept, CutRefitted, RequestRefused, TableOpened
from .plots import FactorView, OverlayView, RunOrderView, TreeView
from .sorted_table import PAGE, READING, PagedTable, SortedTable
from .tabs import TABS, views

REST_S = 0.5
"""After the last move of the cut, before the exact answer is computed."""
WAITS = "It is read when no program is measured; F5 pauses."
SHAPING = "Finding the modes and the cut."
NO_TABLE = "There is no table of these runs yet."


class LookPane(Vertical):
    """The tabs, and a line that says what the cut does."""

    DEFAULT_CSS = """
    LookPane { width: 1fr; height: 1fr; }
    LookPane TabbedContent { height: 1fr; }
    LookPane ContentSwitcher { height: 1fr; }
    LookPane TabPane { padding: 0; height: 1fr; }
    LookPane Tab { padding: 0 1 0 0; }
    LookPane DataTable { height: 1fr; }
    LookPane > #look-words { height: auto; max-height: 3; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(str(number), f"choose('{name}')", title, show=False)
        for number, (name, title) in enumerate(TABS.items(), 1)
    ]

    def __init__(self, *, fancy: bool | None = None) -> None:
        """`fancy`: the terminal can show more than ASCII; None: as its encoding says."""
        super().__init__()
        self._fancy = speaks_unicode(sys.__stdout__ or sys.stdout) if fancy is None else fancy
        self.state = WhatIf(Looking())
        self.measuring = False
        """A program is measured now, so that nothing is computed beside it."""
        self._source: OpenFile | None = None
        self._alone = False
        """What is shown is the table that was opened, without a session around it."""
        self._beside: tuple[Overlay, ...] = ()
        """Other tables that are held against the one that is open."""
        self._named = ""
        """Which of several tables is open; empty: there is one."""
        self._reading = ""
        """What is computed first of a table that was opened."""
        self._scatters: dict[str, Scatter] = {}
        self._computers = Computers(self._answered)
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        with TabbedContent(initial=next(iter(TABS)), id="tabs"):
            for (name, title), view in zip(TABS.items(), views(self._fancy), strict=True):
                with TabPane(title, id=name):
                    yield view
        yield Static("", id="look-words", markup=False)

    @property
    def computing(self) -> bool:
        """Whether a table is open in a process of its own."""
        return self._computers.opened

    async def on_unmount(self) -> None:
        await self._computers.close()

    def look_at(self, looking: Looking) -> None:
        """Show another moment; a cut that is being moved stays where it is."""
        self._alone = False
        self.state = self.state.seen(looking)
        self._spread()

    def open_file(self, path: str, outcome: str | None = None) -> None:
        """Open a recorded file or a run folder, to page through and to refit; TableOpened or RequestRefused follows."""
        self.offer(OpenFile(path, outcome))
        self._open()

    def offer(self, source: OpenFile) -> None:
        """Say what to open once somebody moves the cut or pages through the runs; what was open is closed."""
        if self._alone:
            self.state = WhatIf(Looking())
        self._put_away(source)
        self.read_rows()

    def close_table(self) -> None:
        """Forget the table that is open, and what it showed."""
        self._alone, self.state = False, WhatIf(Looking())
        self._put_away(None)
        self._spread()

    def _put_away(self, instead: OpenFile | None) -> None:
        self._source, self._reading = instead, ""
        self._scatters.clear()
        self._computers.forget()
        self.query_one(PagedTable).say(NO_TABLE)

    def choose(self, tab: str) -> None:
        """Show a tab, and give what is in it the keys."""
        self.query_one("#tabs", TabbedContent).active = tab
        self.query_one(f"TabPane#{tab} > *").focus()

    action_choose = choose

    def focus_tab(self) -> None:
        """Give the keys to what is shown."""
        self.choose(self.query_one("#tabs", TabbedContent).active)

    @on(TabbedContent.TabActivated)
    def read_rows(self) -> None:
        """Open the table once somebody looks at its rows."""
        table = self.query_one(PagedTable)
        if self.query_one("#tabs", TabbedContent).active == "runs" and not table.begun:
            table.say(READING if self._open() else self._waits())

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Open the table when somebody comes to the cut, so that the first move does not wait for it."""
        if isinstance(event.widget, DistributionView):
            self._open()

    @on(DistributionView.CutMoved)
    def move_cut(self, event: DistributionView.CutMoved) -> None:
        """Draw the cut where it is now, and fit there."""
        self.state = self.state.at(event.cut)
        self._spread()
        self.fit()

    @on(DistributionView.KeepPressed)
    def keep_cut(self) -> None:
        """Let the app record the cut; it counts as moved until it has."""
        if self.state.moved is not None:
            self.post_message(CutKept(self.state.moved))

    @on(DistributionView.CutDropped)
    def drop_cut(self) -> None:
        """Put the cut back."""
        self.state = self.state.back()
        self._spread()

    @on(TreeView.ColumnChosen)
    def show_column(self, event: TreeView.ColumnChosen) -> None:
        """Show a column of the tree against the outcome."""
        self.query_one(FactorView).look_at(event.column)
        self.choose("factor")

    @on(FactorView.ColumnRequested)
    def read_column(self, event: FactorView.ColumnRequested) -> None:
        """Read the numbers of a column."""
        if self._open():
            self._computers.ask(ReadColumn(event.column))

    @on(PagedTable.PageRequested)
    def read_page(self, event: PagedTable.PageRequested) -> None:
        """Read rows."""
        if self.computing:
            self._computers.ask(ReadPage(event.first, PAGE, event.order.by, event.order.descending))

    def fit(self) -> None:
        """Fit quickly now, and exactly once the cut rests."""
        cut = self.state.cutting.cut
        if cut is None or not self._open():
            return
        self._computers.ask(Refit(cut))
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, lambda: self._fit_exactly(cut))

    def _fit_exactly(self, cut: float) -> None:
        if cut == self.state.cutting.cut and not self.measuring:
            self._computers.ask(Refit(cut, exact=True))

    def _open(self) -> bool:
        """Open what was offered, if it is not open; tell whether there is a table to ask."""
        if self._source is None or self.measuring:
            return False
        if not self._computers.opened:
            self._computers.open(self._source)
        return True

    def _answered(self, question: LookQuestion, answer: LookAnswer) -> None:
        if self.is_attached and self.app.is_running:  # else the tabs are being taken away
            match answer:
                case Failed():
                    self._refuse(question, answer)
                case OpenedTable():
                    self._take_table(answer)
                case Shaped():
                    self._take_shape(answer)
                case Refitted():
                    self._take_fit(answer)
                case ColumnRead():
                    self._take_column(answer)
                case TablePage():
                    self.query_one(PagedTable).put(answer)
            self._spread()

    def _take_fit(self, found: Refitted) -> None:
        self.state = self.state.with_answer(found)
        if self.state.moved is not None:
            self.post_message(CutRefitted(found))

    def _take_column(self, read: ColumnRead) -> None:
        outcomes = replace(self.state.looking.outcomes, values=read.outcomes)
        self._scatters[read.name] = Scatter(read.name, read.values, outcomes, read.unit, read.r2)

    def _refuse(self, question: LookQuestion, failed: Failed) -> None:
        self._reading = ""
        if isinstance(question, OpenFile):
            self._computers.forget()
            self._named = failed.sentence if self._alone else ""
            self.query_one(PagedTable).say(failed.sentence)
        self.post_message(RequestRefused(failed.sentence))

    def _take_table(self, opened: OpenedTable) -> None:
        """Show the rows at once; what the runs look like takes longer."""
        if not self.state.looking.outcomes.values.size:
            self._alone = True
            self.state, self._reading = WhatIf(Looking(opened.outcomes)), SHAPING
        self.query_one(PagedTable).begin(opened.header)
        self.post_message(TableOpened(opened))
        self._computers.ask(FindShape())

    def _take_shape(self, shaped: Shaped) -> None:
        self._reading = ""
        if self._alone and self.state.moved is None:
            self.state = WhatIf(Looking(shaped.outcomes, shaped.cut, shaped.modes))
            self.fit()

    def _spread(self) -> None:
        state, looking = self.state, self.state.looking
        self.query_one(DistributionView).show(looking.outcomes, state.cutting, looking.modes)
        self.query_one(RunOrderView).show(looking.outcomes, state.cutting)
        self.query_one(TreeView).show(state.tree)
        columns = tuple(one.column for one in state.factors)
        self.query_one(FactorView).show(columns, {**self._scatters, **looking.scatters}, state.cutting.cut)
        self.query_one(OverlayView).show(looking.overlays or self._beside)
        self.query_one("#look-ranking", SortedTable).show(ranking(state.factors))
        self.query_one("#look-words", Static).update(
            "  ".join(filter(None, (self._named, self._reading or state.words(self._waits()))))
        )

    def _waits(self) -> str:
        if self.measuring:
            return WAITS
        return NO_TABLE if self._source is None else ""
