"""The tabs by keys and mouse, on a screen that is none."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Static, TabbedContent

from vgo_agent.agent.look.distribution import Histogram
from vgo_agent.agent.look.dots import Scatter
from vgo_agent.agent.look.messages import Failed, Looking, LookQuestion, OpenFile, ReadColumn
from vgo_agent.agent.look.plot import Sentence
from vgo_agent.agent.look.scenes import PlottedFactor, PlottedOutcomes
from vgo_agent.agent.tui.messages import CutKept, QuestionRefused
from vgo_agent.agent.tui.widgets.figure_view import EVERY_S, CoresView, CutView
from vgo_agent.agent.tui.widgets.look_pane import TABS, LookPane
from vgo_agent.agent.tui.widgets.sorted_table import PAGE, PagedTable, SortedTable
from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.lanes import LanePiece, RunLanes, ThreadLane
from vgo_agent.layers.probes.opened import OpenedRun
from vgo_agent.tools.run_table import write_runs

from .conftest import until

RNG = np.random.default_rng(7)
RUNS = PAGE + 40
VALUES = RNG.normal(size=(RUNS, 6))
TIMES = 1.0 + 0.05 * RNG.normal(size=RUNS) + (VALUES[:, 2] > 0.8)
OUTCOMES = PlottedOutcomes(TIMES, "s", "time")
HEADER = "time_s,a,b,c,d,e,f"
FACTORS = tuple(PlottedFactor(name, name, 0.9, 0.01, None, True, 1.0, 0.0) for name in "abc")
SIZES = ((20, 5), (1, 1), (200, 60), (41, 12), (80, 24))


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "runs.csv"
    np.savetxt(path, np.column_stack((TIMES, VALUES)), delimiter=",", header=HEADER, comments="")
    return str(path)


class Shown(App[None]):
    """Only the tabs; what they tell is kept."""

    def __init__(self, fancy: bool = True) -> None:
        super().__init__()
        self.fancy = fancy
        self.told: list[Message] = []

    def compose(self) -> ComposeResult:
        yield LookPane(fancy=self.fancy)

    def on_cut_kept(self, event: CutKept) -> None:
        self.told.append(event)

    def on_question_refused(self, event: QuestionRefused) -> None:
        self.told.append(event)

    @property
    def pane(self) -> LookPane:
        return self.query_one(LookPane)

    def page(self, tab: str) -> str:
        return self.pane.view(tab).text

    def words(self) -> str:
        return str(self.query_one("#look-words", Static).content)


def on(app: Shown, use: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await use(pilot)

    asyncio.run(run())


def test_a_cut_that_is_moved_is_relabelled_at_once_and_then_refitted(tmp_path, runs):
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        pane = app.pane
        pane.open_file(str(tmp_path / "none.csv"))
        await until(lambda: app.told)
        refused = app.told.pop()
        assert isinstance(refused, QuestionRefused) and "check the path" in refused.sentence
        pane.open_file(runs, "time_s")
        pane.choose("distribution")
        await until(lambda: pane.state.recorded)
        recorded = pane.state.cut
        await pilot.press("left", "left")
        await pilot.pause()
        moved = pane.state.moved
        assert moved is not None and recorded is not None and moved < recorded
        assert "moved cut at" in app.page("distribution")
        await until(lambda: pane.state.refitted and pane.state.refitted.exact)
        found = pane.state.refitted
        assert found is not None and (found.cut, found.n_slow) == (moved, int((moved < TIMES).sum()))
        assert "c goes with them" in app.words()
        await sees_everything(app, pilot)
        pane.choose("distribution")
        await pilot.press("enter")
        await pilot.pause()
        kept = [event.cut for event in app.told if isinstance(event, CutKept)]
        assert kept == [moved] and pane.state.moved == moved  # the app has not recorded it
        pane.look_at(Looking(OUTCOMES, cut=moved))
        assert pane.state.moved is None
        await pilot.press("right", "escape")
        await pilot.pause()
        assert pane.state.cut == moved

    on(app, use)


def test_rows_come_whenever_their_tab_is_chosen(runs):
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        app.pane.open_file(runs, "time_s")
        await until(lambda: app.query_one(PagedTable).begun)  # the first page is on its way
        app.pane.choose("runs")
        table = app.query_one(PagedTable)
        await until(lambda: table.row_count)
        assert len(table.columns) == 1 + VALUES.shape[1]
        np.savetxt(
            f"{runs}.csv", np.column_stack((TIMES, VALUES[:, :2])), delimiter=",", header=HEADER[:10], comments=""
        )
        app.pane.open_file(f"{runs}.csv", "time_s")
        await until(lambda: len(table.columns) == 3 and table.row_count)

    on(app, use)


def test_a_table_that_was_closed_while_it_was_read_is_not_shown(runs):
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        app.pane.open_file(runs, "time_s")
        await pilot.pause()
        app.pane.close_table()
        await until(lambda: not app.pane._computer.busy)
        assert not app.told and not app.pane.state.looking.outcomes.values.size
        assert not app.query_one(PagedTable).begun

    on(app, use)


def test_the_column_that_is_shown_is_asked_for_again_where_another_went_before_it(runs, monkeypatch):
    app, asked = Shown(), list[LookQuestion]()

    async def use(pilot: Pilot[None]) -> None:
        pane = app.pane
        monkeypatch.setattr(pane._computer, "ask", asked.append)
        pane.offer(OpenFile(runs))
        pane.look_at(Looking(OUTCOMES, factors=FACTORS))
        pane.choose("factor")
        await pilot.press("down", "down", "up", "up")
        await pilot.pause()
        assert [one.name for one in asked if isinstance(one, ReadColumn)] == ["a", "b", "c", "b", "a"]
        pane._answered(ReadColumn("a"), Failed("It cannot be read."))
        await pilot.press("down", "up")
        await pilot.pause()
        pane._answered(ReadColumn("a"), Scatter("a", VALUES[:, 0], OUTCOMES))
        await pilot.press("down", "up")
        await pilot.pause()
        assert [one.name for one in asked if isinstance(one, ReadColumn)][5:] == ["b", "a", "b"]

    on(app, use)


def test_cores_are_said_to_be_read_until_they_were_read_twice():
    assert CoresView().figure == Sentence("Reading the cores.")


async def sees_everything(app: Shown, pilot: Pilot[None]) -> None:
    """Go through the tabs: what was fitted is in all of them."""
    app.pane.choose("tree")
    await pilot.pause()
    assert "c? (240 runs)" in app.page("tree")
    await pilot.press("enter")
    await until(lambda: "c: R2" in app.page("factor"))
    assert app.query_one(TabbedContent).active == "factor"
    await pilot.press("down")
    await until(lambda: "R2" in app.page("factor") and "c: R2" not in app.page("factor"))
    ranking = app.query_one("#look-ranking", SortedTable)
    assert ranking.row_at_cursor[0] == "c"
    app.pane.choose("runs")
    table = app.query_one(PagedTable)
    await until(lambda: table.row_count)
    assert table.row_count == PAGE and str(table.border_subtitle) == f"rows 1-{PAGE} of {RUNS}"
    await pilot.press("s")
    await until(lambda: table.row_at_cursor[0] == TIMES.min())
    await pilot.press("n")
    await until(lambda: table.row_count == RUNS - PAGE)
    assert table.row_at_cursor[0] == np.sort(TIMES)[PAGE]


def test_nothing_is_computed_while_a_program_is_measured(runs):
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        pane = app.pane
        pane.measuring = True
        pane.open_file(runs, "time_s")
        pane.look_at(Looking(OUTCOMES, cut=1.5))
        pane.choose("distribution")
        await pilot.press("left")
        await until(lambda: "F5 pauses" in app.words() and "moved cut at" in app.page("distribution"))
        assert pane.state.moved is not None and not pane.computing
        pane.choose("runs")
        await pilot.pause()
        assert "F5 pauses" in str(app.query_one(PagedTable).ordered_columns[0].label)

    on(app, use)


def test_a_click_puts_the_cut_under_the_mouse_and_hovering_reads():
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        app.pane.look_at(Looking(OUTCOMES, cut=1.5))
        await until(lambda: "240 runs" in app.page("distribution"))
        await pilot.hover(CutView, (30, 6))
        await pilot.pause()
        assert "runs here" in app.page("distribution")
        await pilot.click(CutView, (50, 6))
        await pilot.pause()
        view = app.query_one(CutView)
        assert app.pane.state.moved == view.value_at(50)
        assert "no table" in app.words()

    on(app, use)


def test_zooming_panning_and_reading_by_keys():
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        app.pane.look_at(Looking(OUTCOMES, cut=1.5))
        app.pane.choose("order")
        view = app.pane.view("order")
        await until(lambda: "240 runs in order" in view.text and view.has_focus_within)
        await pilot.press("right")
        await until(lambda: "run 124:" in view.text)
        await pilot.press("plus", "plus", "shift+right")
        await pilot.pause()
        assert "160" in view.text.split("\n")[-2] and "50 " not in view.text.split("\n")[-2]
        await pilot.press("0")
        await pilot.pause()
        assert "50 " in view.text.split("\n")[-2]

    on(app, use)


def with_a_ledger(path: Path) -> str:
    """Save runs of which every third waits 30 ms for a server that sleeps."""
    rows = []
    for place in range(30):
        ns = round(1e6 * (35 if place % 3 == 0 else 5)) + 1000 * place
        asleep, asked = LanePiece(10**6, ns, TimeState.SLEEP, "nanosleep", 1, 1), (0, 10**6)
        path_ = (LanePiece(*asked, TimeState.ON_CPU, "ask", 0, 1), asleep)
        client = (path_[0], LanePiece(10**6, ns, TimeState.SOCKET, "recvfrom(socket)", 1, 1))
        lanes = RunLanes(ns, path_, (ThreadLane("client 7", True, client), ThreadLane("server 8", False, (asleep,))))
        rows.append(
            {
                **{"order": place, "condition": "baseline", "pair": -1, "ok": 1, "exit_code": 0, "survivors": 0},
                **{"outcome": ns / 1e9, "wall_s": ns / 1e9, "layers": "stacks", "failure": "", "stacks.region": "run"},
                **{"stacks.on_cpu_ms": 1.0, "stacks.sleep_ms": ns / 1e6 - 1, "stacks.lanes": lanes.text()},
                "stacks.opened": OpenedRun((), (), {}, 0, 0).text(),
            }
        )
    path.write_bytes(write_runs(rows))
    return str(path)


def test_a_slow_and_a_fast_run_are_walked_through(tmp_path):
    app = Shown()

    async def use(pilot: Pilot[None]) -> None:
        app.pane.open_file(with_a_ledger(tmp_path / "runs.csv"))
        app.pane.choose("compare")
        await until(lambda: "where the time went" in app.page("compare"))
        both = app.page("compare")
        assert "asleep by a timer" in both and both.count("client 7") == both.count("server 8") == 2
        await pilot.press("right")
        await until(lambda: "asleep by a timer (nanosleep) in server 8" in app.page("compare"))
        await pilot.press("down", "plus", "plus", "right")
        reads = "client 7: waiting for a socket (recvfrom(socket)) woken by"
        await until(lambda: reads in " ".join(app.page("compare").split()))
        assert "fast run" not in app.page("compare")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()

    on(app, use)


@pytest.mark.slow
def test_any_size_and_any_runs_are_survived_in_every_tab(request):
    app = Shown(fancy=False)
    samples: tuple[object, ...] = ([], [1.0], [np.nan, np.inf], [1e308, -1e308, 0.0], TIMES)
    step = 1 if request.config.getoption("--all") else 2

    async def use(pilot: Pilot[None]) -> None:
        for values, size in zip(samples[::step], SIZES[::step], strict=True):
            app.pane.look_at(Looking(PlottedOutcomes(np.array(values), "s", "time"), cut=1.5))
            await pilot.resize_terminal(*size)
            for name in TABS:
                app.pane.choose(name)
                await pilot.press("plus", "left")
        app.pane.choose("distribution")
        await until(lambda: "240 runs" in app.page("distribution"))
        assert app.page("distribution").isascii()

    on(app, use)


def test_runs_that_come_fast_are_drawn_a_few_times_a_second():
    drawn = []

    class Counted(Histogram):
        def draw(self, canvas, window=None, cursor=None):
            drawn.append(self)
            return super().draw(canvas, window, cursor)

    class One(App[None]):
        def compose(self) -> ComposeResult:
            yield CutView()

    async def use() -> None:
        app = One()
        async with app.run_test():
            view = app.query_one(CutView)
            started = time.monotonic()
            for runs in range(2, 202):
                view.show(Counted(PlottedOutcomes(TIMES[:runs], "s", "time")))
            await until(lambda: "201 runs" in view.text)
            assert len(drawn) <= 1 + (time.monotonic() - started) / EVERY_S

    asyncio.run(use())
