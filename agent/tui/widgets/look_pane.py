"""Everything that is looked at, as tabs; the cut that is moved here is relabelled and refitted in other processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.timer import Timer
from textual.widgets import Static, TabbedContent, TabPane

from ...look.computer import Computer, WhatIf, ranking
from ...look.distribution import Histogram, Overlay
from ...look.dots import RunChart, Scatter
from ...look.messages import (
    Failed,
    FindShape,
    LookAnswer,
    Looking,
    LookQuestion,
    OpenedTable,
    OpenFile,
    ReadColumn,
    ReadTypicalRuns,
    Refit,
    Refitted,
    TablePage,
    TypicalRuns,
)
from ...look.of_session import looking_of, overlays_of, place_words
from ...look.plot import Sentence, TextFigure
from ...look.timeline import RunTimelines, run_timelines
from ...look.tree_lines import TreePage, tree_pages
from ...session_view.view import EMPTY, SessionView
from ...terminal import speaks_unicode
from ..messages import CutMoved, FigureChosen, QuestionPut, QuestionRefused
from .figure_view import CoresView, CutView, FigureView
from .sorted_table import READING, PagedTable, SortedTable, StepsTable

TABS: Mapping[str, tuple[str, type[FigureView | SortedTable]]] = {
    "distribution": ("Histogram", CutView),
    "order": ("Order", FigureView),
    "tree": ("Tree", FigureView),
    "factor": ("Factor", FigureView),
    "compare": ("Compare", FigureView),
    "cores": ("Cores", CoresView),
    "ranking": ("Rank", SortedTable),
    "runs": ("Runs", PagedTable),
    "steps": ("Steps", StepsTable),
}
"""What stands on each tab, short, so that all are seen beside the chat on 120 columns; and what is in it."""
REST_S = 0.5
"""After the last move of the cut, before the exact answer is computed."""
WAITS = "It is read when no program is measured; F5 pauses."
SHAPING = "Finding the modes and the cut."
NO_TABLE = "There is no table of these runs yet."
NO_FACTOR = Sentence("There is no factor to show yet: rank the factors first.")
OF_LEDGER, LANES = "stacks.on_cpu_ms", "stacks.lanes"
"""Columns of runs with a ledger, and of those whose threads were followed."""
NO_COMPARISON = Sentence("There is nothing to compare yet: try a mitigation, or open a second run.")


class LookPane(Vertical):
    """The tabs, and a line that says what the cut does.

    They show a session, whose runs are opened for refitting when somebody moves the cut and no program is measured, or
    files that were recorded elsewhere.
    """

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
        *(
            Binding(str(number), f"choose('{name}')", title, show=False)
            for number, (name, (title, _)) in enumerate(TABS.items(), 1)
        ),
        Binding("left_square_bracket", "file(-1)", "File", key_display="[]"),
        Binding("right_square_bracket", "file(1)", "Next file", show=False),
    ]

    def __init__(self, *, fancy: bool | None = None) -> None:
        """`fancy`: the terminal can show more than ASCII; None: as its encoding says."""
        super().__init__()
        self._fancy = speaks_unicode(sys.__stdout__ or sys.stdout) if fancy is None else fancy
        self.state = WhatIf(Looking())
        self.measuring = False
        """A program is measured now, so that nothing is computed beside it."""
        self._source: OpenFile | None = None
        self._profile = ("", "")
        """Folder, and the profile in it, that is offered for refitting."""
        self._files: Mapping[str, Any] | None = None
        """What the desk answered about recorded files; None: a session is shown."""
        self._place = 0
        """Of the file that is open."""
        self._alone = False
        """What is shown is the table that was opened, without a session around it."""
        self._beside: tuple[Overlay, ...] = ()
        """Other tables that are held against the one that is open."""
        self._named = ""
        """Which of several tables is open; empty: there is one."""
        self._reading = ""
        """What is computed first of a table that was opened."""
        self._timelines: tuple[RunTimelines, ...] = ()
        """Of a slow and a fast run, where the table that is open has a ledger."""
        self._has_ledger = False
        """The session has runs with one."""
        self._scatters: dict[str, Scatter] = {}
        """Of columns that were read here."""
        self._column = ""
        """The column that was asked for last: one that was asked for before it may never be answered."""
        self._computer = Computer(self._answered)
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        with TabbedContent(initial=next(iter(TABS)), id="tabs"):
            for name, (title, kind) in TABS.items():
                with TabPane(title, id=name):
                    yield kind(fancy=self._fancy, id=f"look-{name}")
        yield Static("", id="look-words", markup=False)

    def view(self, tab: str) -> FigureView:
        return self.query_one(f"#look-{tab}", FigureView)

    @property
    def computing(self) -> bool:
        """Whether a table is open in a process of its own."""
        return self._computer.opened

    async def on_unmount(self) -> None:
        await self._computer.close()

    def show(self, view: SessionView, measuring: bool = False, files: Mapping[str, Any] | None = None) -> None:
        """Show a moment; `measuring`: a program runs now. `files`: they are shown instead."""
        if files is not self._files:
            self._turn_to(files)
        if files is not None:
            return
        paused, self.measuring = self.measuring and not measuring, measuring
        self._has_ledger = any(OF_LEDGER in one.columns for one in view.measured)
        profiles = [one.call_id for one in view.measured if one.tool == "profile" and not one.going_on]
        profile = (view.folder, profiles[-1] if profiles else "")
        if profile != self._profile:
            self._profile = profile
            if profiles:
                self.offer(OpenFile(view.folder))
        self.query_one(StepsTable).show_steps(view)
        self.look_at(looking_of(view))
        if paused:
            self.read_rows()
        if paused and self.state.moved is not None and not self.state.fitted:
            self.fit()

    def look_at(self, looking: Looking) -> None:
        """Show another moment; a cut that is being moved stays where it is."""
        self._alone = False
        self.state = self.state.seen(looking)
        self._spread()

    def _turn_to(self, files: Mapping[str, Any] | None) -> None:
        self._files, self._profile, self._place = files, ("", ""), 0
        self._beside = overlays_of(files) if files else ()
        self._named, self.measuring = "", False
        self.query_one(StepsTable).show_steps(EMPTY)
        self.close_table()
        if files:
            self._open_place(files)

    def _open_place(self, files: Mapping[str, Any]) -> None:
        self._named = place_words(files["paths"], self._place)
        self.state, self._alone = WhatIf(Looking()), True
        self.open_file(files["paths"][self._place], files["metric"] or None)
        self._spread()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer another file where there is one."""
        if action == "file":
            return self._files is not None and len(self._files["paths"]) > 1
        return super().check_action(action, parameters)

    def action_file(self, step: int) -> None:
        if self._files is not None:
            self._place = (self._place + step) % len(self._files["paths"])
            self._open_place(self._files)

    def open_file(self, path: str, outcome: str | None = None) -> None:
        """Open a recorded file or a run folder, to page through and to refit; QuestionRefused may follow."""
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
        self._source, self._reading, self._column = instead, "", ""
        self._scatters.clear()
        self._timelines = ()
        self._computer.forget()
        self.query_one(PagedTable).say(NO_TABLE)

    def choose(self, tab: str) -> None:
        self.query_one("#tabs", TabbedContent).active = tab
        self.query_one(f"TabPane#{tab} > *").focus()

    action_choose = choose

    def focus_tab(self) -> None:
        self.choose(self.query_one("#tabs", TabbedContent).active)

    @on(TabbedContent.TabActivated)
    def read_rows(self) -> None:
        """Open the table once somebody looks at its rows, or at two of its runs."""
        table, active = self.query_one(PagedTable), self.query_one("#tabs", TabbedContent).active
        if active == "runs" and not table.begun:
            table.say(READING if self._open() else self._waits())
        if active == "compare" and self._has_ledger:
            self._open()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Open the table when somebody comes to the cut, so that the first move does not wait for it."""
        if isinstance(event.widget, CutView):
            self._open()

    def on_cut_moved(self, event: CutMoved) -> None:
        """Draw the cut where it is now, at once since a key moved it, and fit there."""
        self.state = self.state.back() if event.cut is None else self.state.at(event.cut)
        self._spread()
        self.view("distribution").redraw()
        if event.cut is not None:
            self.fit()

    def on_figure_chosen(self, event: FigureChosen) -> None:
        """Read the column that is shown; show the one that the tree asks about."""
        if event.asked and isinstance(event.figure, TreePage):
            if column := event.figure.column:
                self.view("factor").choose(column)
                self.choose("factor")
        else:
            self._read_column()

    def on_question_put(self, event: QuestionPut) -> None:
        if self.computing:
            self._computer.ask(event.question)

    def _read_column(self) -> None:
        column = self.view("factor").figure.name
        known = column in self._scatters or column in self.state.looking.scatters
        if column and not known and column != self._column and self._open():
            self._column = column
            self._computer.ask(ReadColumn(column))

    def fit(self) -> None:
        """Fit quickly now, and exactly once the cut rests."""
        cut = self.state.cut
        if cut is None or not self._open():
            return
        self._computer.ask(Refit(cut))
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, lambda: self._fit_exactly(cut))

    def _fit_exactly(self, cut: float) -> None:
        if cut == self.state.cut and not self.measuring:
            self._computer.ask(Refit(cut, exact=True))

    def _open(self) -> bool:
        """Open what was offered, if it is not open; tell whether there is a table to ask."""
        if self._source is None or self.measuring:
            return False
        if not self._computer.opened:
            self._computer.open(self._source)
        return True

    def _answered(self, question: LookQuestion, answer: LookAnswer) -> None:  # noqa: C901  one case a kind of answer
        if self.is_attached and self.app.is_running:  # else the tabs are being taken away
            match answer:
                case Failed():
                    self._refuse(question, answer)
                case OpenedTable():
                    self._take_table(answer)
                case Looking():
                    self._take_shape(answer)
                case Refitted():
                    self.state = self.state.with_answer(answer)
                case Scatter():
                    self._scatters[answer.name] = answer
                case TablePage():
                    self.query_one(PagedTable).put(answer)
                case TypicalRuns():
                    self._timelines = run_timelines(answer.runs)
            self._spread()

    def _refuse(self, question: LookQuestion, failed: Failed) -> None:
        self._reading = ""
        if isinstance(question, OpenFile):
            self._computer.forget()
            self._named = failed.sentence if self._alone else ""
            self.query_one(PagedTable).say(failed.sentence)
        self.post_message(QuestionRefused(failed.sentence))

    def _take_table(self, opened: OpenedTable) -> None:
        """Show the rows at once; what the runs look like takes longer."""
        if not self.state.looking.outcomes.values.size:
            self._alone = True
            self.state, self._reading = WhatIf(Looking(opened.outcomes)), SHAPING
        self.query_one(PagedTable).begin(opened.header)
        self._computer.ask(FindShape())
        if LANES in opened.header:
            self._computer.ask(ReadTypicalRuns())

    def _take_shape(self, shaped: Looking) -> None:
        self._reading = ""
        if self._alone and self.state.moved is None:
            self.state = WhatIf(shaped)
            self.fit()

    def _spread(self) -> None:
        state, looking = self.state, self.state.looking
        figures: Mapping[str, tuple[TextFigure, ...]] = {
            "distribution": (Histogram(looking.outcomes, state.cut, looking.modes, state.moved is not None),),
            "order": (RunChart(looking.outcomes, state.cut), *([looking.stacked] if looking.stacked.parts else [])),
            "tree": tree_pages(state.tree),
            "factor": self._factors(),
            "compare": (*(looking.overlays or self._beside), *self._timelines) or (NO_COMPARISON,),
        }
        for tab, shown in figures.items():
            self.view(tab).show(*shown)
        self._read_column()
        self.query_one("#look-ranking", SortedTable).show(ranking(state.factors))
        told = (self._named, self._reading or state.words(self._waits()))
        self.query_one("#look-words", Static).update("  ".join(filter(None, told)))

    def _factors(self) -> tuple[TextFigure, ...]:
        """Columns of the ranking, the most convincing first, and those that the tree asks about."""
        state = self.state
        asked = (node.column for node in state.tree.nodes if node.column) if state.tree else ()
        columns = dict.fromkeys([*(one.column for one in state.factors), *asked])
        known = {**self._scatters, **state.looking.scatters}
        scatters = ((column, known.get(column)) for column in columns)
        return tuple(
            replace(scatter, cut=state.cut) if scatter else Sentence(f"Reading {column}.", column)
            for column, scatter in scatters
        ) or (NO_FACTOR,)

    def _waits(self) -> str:
        if self.measuring:
            return WAITS
        return NO_TABLE if self._source is None else ""
