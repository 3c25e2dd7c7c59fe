"""Everything that is looked at, as tabs; the cut that is moved here is relabelled and refitted in other processes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Static, TabbedContent, TabPane

from ....tools.statistics.values import FloatArray
from ...look.asked import (
    Answer,
    ColumnRead,
    Described,
    Failed,
    GiveRuns,
    Opened,
    OpenFile,
    Page,
    Question,
    ReadColumn,
    ReadPage,
    Refit,
    Refitted,
)
from ...look.computers import Computers
from ...look.scenes import Looking, Outcomes, Scatter, Table
from ...look.what_if import WhatIf, looking_at, ranking
from .cores_view import CoresView
from .distribution_view import DistributionView
from .look_messages import CutKept, CutRefitted, Refused, TableOpened
from .plots import FactorView, OverlayView, RunOrderView
from .sorted_table import PAGE, PagedTable, SortedTable
from .tree_view import TreeView

REST_S = 0.5
"""After the last move of the cut, before the exact answer is computed."""
TABS = ("distribution", "order", "tree", "factor", "compare", "cores", "ranking", "runs", "steps")


class LookPane(Vertical):
    """The tabs, and a line that says what the cut does."""

    DEFAULT_CSS = """
    LookPane { width: 1fr; height: 1fr; }
    LookPane TabbedContent { height: 1fr; }
    LookPane ContentSwitcher { height: 1fr; }
    LookPane TabPane { padding: 0; height: 1fr; }
    LookPane DataTable { height: 1fr; }
    LookPane > #look-words { height: auto; max-height: 3; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(str(number), f"choose('{name}')", name.capitalize(), show=False) for number, name in enumerate(TABS, 1)
    ]

    def __init__(self, *, fancy: bool = True, id: str | None = None) -> None:
        """`fancy`: the terminal can show more than ASCII."""
        super().__init__(id=id)
        self._fancy = fancy
        self._state = WhatIf(Looking())
        self._scatters: dict[str, Scatter] = {}
        self._computers = Computers(self._answered)
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the tabs."""
        views = (
            DistributionView(fancy=self._fancy),
            RunOrderView(fancy=self._fancy),
            TreeView(fancy=self._fancy),
            FactorView(fancy=self._fancy),
            OverlayView(fancy=self._fancy),
            CoresView(fancy=self._fancy),
            SortedTable(fancy=self._fancy, id="look-ranking"),
            PagedTable(fancy=self._fancy, id="look-runs"),
            SortedTable(fancy=self._fancy, id="look-steps"),
        )
        with TabbedContent(initial=TABS[0]):
            for name, view in zip(TABS, views, strict=True):
                with TabPane(name.capitalize(), id=name):
                    yield view
        yield Static("", id="look-words", markup=False)

    async def on_unmount(self) -> None:
        """End the processes that compute."""
        await self._computers.close()

    def show(self, looking: Looking) -> None:
        """Show another moment; a cut that is being moved stays where it is."""
        recorded = self._state.recorded if looking.cut == self._state.looking.cut else None
        self._state = replace(self._state, looking=looking, recorded=None if looking.tree else recorded)
        self._spread()

    def open_file(self, path: str, outcome: str | None = None) -> None:
        """Open a recorded file or a run folder, to page through and to refit; TableOpened or Refused follows."""
        self._scatters.clear()
        self._computers.open(OpenFile(path, outcome))

    def give_runs(self, outcomes: Outcomes, names: tuple[str, ...], values: FloatArray) -> None:
        """Take runs that are at hand, `values` of shape (runs, columns); TableOpened follows."""
        self._scatters.clear()
        self._computers.open(GiveRuns(outcomes, names, values))

    async def warm(self) -> None:
        """Start the process that refits before it is needed; not while a program is measured."""
        await self._computers.warm()

    def choose(self, tab: str) -> None:
        """Show a tab, and give what is in it the keys."""
        self.query_one(TabbedContent).active = tab
        self.query_one(f"TabPane#{tab} > *").focus()

    def action_choose(self, tab: str) -> None:
        """Show a tab."""
        self.choose(tab)

    @on(DistributionView.CutMoved)
    def move_cut(self, event: DistributionView.CutMoved) -> None:
        """Draw the cut where it is now, and fit there."""
        event.stop()
        self._state = self._state.at(event.cut)
        self._spread()
        self._fit()

    @on(DistributionView.CutKept)
    def keep_cut(self, event: DistributionView.CutKept) -> None:
        """Let the app record the cut; until it has, it stands here."""
        event.stop()
        if self._state.moved is not None:
            self.post_message(CutKept(self._state.moved))
            self._state = self._state.kept()
            self._spread()

    @on(DistributionView.CutDropped)
    def drop_cut(self, event: DistributionView.CutDropped) -> None:
        """Put the cut back."""
        event.stop()
        self._state = self._state.back()
        self._spread()

    @on(TreeView.ColumnChosen)
    def show_column(self, event: TreeView.ColumnChosen) -> None:
        """Show a column of the tree against the outcome."""
        event.stop()
        self.query_one(FactorView).look_at(event.column)
        self.choose("factor")

    @on(FactorView.Wanted)
    def read_column(self, event: FactorView.Wanted) -> None:
        """Read the numbers of a column."""
        event.stop()
        if self._computers.opened:
            self._computers.ask(ReadColumn(event.column))

    @on(PagedTable.Wanted)
    def read_page(self, event: PagedTable.Wanted) -> None:
        """Read rows."""
        event.stop()
        self._computers.ask(ReadPage(event.first, PAGE, event.order.by, event.order.descending))

    def _fit(self) -> None:
        """Fit quickly now, and exactly once the cut rests."""
        cut = self._state.cutting.cut
        if cut is None or not self._computers.opened:
            return
        self._computers.ask(Refit(cut))
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, lambda: self._computers.ask(Refit(cut, exact=True)))

    def _answered(self, question: Question, answer: Answer) -> None:
        """Take in an answer of the processes."""
        match answer:
            case Opened():
                self._opened(answer)
            case Refitted():
                self._state = self._state.with_answer(answer)
                if self._state.moved is not None:
                    self.post_message(CutRefitted(answer))
            case ColumnRead():
                self._scatters[answer.name] = self._scatter(answer)
            case Page():
                self.query_one(PagedTable).put(answer)
            case Failed(sentence):
                self.post_message(Refused(sentence))
            case Described():
                return
        self._spread()

    def _opened(self, opened: Opened) -> None:
        if not self._state.looking.outcomes.values.size:
            self._state = WhatIf(looking_at(opened))
        self.query_one(PagedTable).begin(opened.header)
        self.post_message(TableOpened(opened))
        if self._state.looking.tree is None:
            self._fit()

    def _scatter(self, read: ColumnRead) -> Scatter:
        outcomes = replace(self._state.looking.outcomes, values=read.outcomes)
        return Scatter(read.name, read.values, outcomes, read.unit, read.r2)

    def _spread(self) -> None:
        """Hand every tab what it shows."""
        state, looking = self._state, self._state.looking
        self.query_one(DistributionView).show(looking.outcomes, state.cutting, looking.modes)
        self.query_one(RunOrderView).show(looking.outcomes, state.cutting)
        self.query_one(TreeView).show(state.tree)
        columns = tuple(one.column for one in state.factors)
        self.query_one(FactorView).show(columns, {**looking.scatters, **self._scatters}, state.cutting.cut)
        self.query_one(OverlayView).show(looking.overlays)
        self.query_one("#look-ranking", SortedTable).show(ranking(state.factors))
        self.query_one("#look-steps", SortedTable).show(looking.steps or Table((), ()))
        self.query_one("#look-words", Static).update(state.words())
