"""How each screen looks, in three sizes and two themes; `--snapshot-update` writes them anew: look at them first."""

import shutil
from collections.abc import Awaitable, Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Markdown, Static, TabbedContent
from textual.widgets._footer import FooterKey

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.look.messages import TablePage
from vgo_agent.agent.look.timeline import CoreRates
from vgo_agent.agent.record import record_of
from vgo_agent.agent.report.tables import runs_csv
from vgo_agent.agent.run_folder import RunFolder, write
from vgo_agent.agent.transcript import VerdictGiven, line, read
from vgo_agent.agent.tui.app import ChatApp
from vgo_agent.agent.tui.screens.dialogs import Approve
from vgo_agent.agent.tui.screens.recorded import SourceScreen
from vgo_agent.agent.tui.screens.session import SessionScreen
from vgo_agent.agent.tui.widgets.card import Conclusion, ConversationView
from vgo_agent.agent.tui.widgets.figure_view import CoresView
from vgo_agent.agent.tui.widgets.look_pane import LookPane
from vgo_agent.agent.tui.widgets.sorted_table import PagedTable
from vgo_agent.tools.run_table import LAYERS, RUNS, write_layers

from .conftest import say, until

QUESTION = {
    "mitigation": "Transparent huge pages always",
    "scope": "system",
    "would": ["write always to /sys/kernel/mm/transparent_hugepage/enabled (now madvise)"],
    "hurts": "Every program on the machine uses more memory, and may stall in compaction.",
    "sources": ["Linux kernel documentation: Transparent Hugepage Support"],
    "steps": [],
}
BY_HAND = QUESTION | {
    "mitigation": "Isolate cores",
    "scope": "reboot",
    "would": [],
    "steps": ["Add isolcpus=1 to the boot parameters.", "Reboot."],
}
LOOKS, BETWEEN_S = 3, 0.15
"""Together longer than a timer or a worker of the app takes to change what is shown."""
Opening = Callable[[Pilot[None]], Awaitable[None]]


async def still(pilot: Pilot[None]) -> None:
    """Wait until several looks at the screen, one after another, see the same; the limit of the test ends it.

    No cursor blinks: on a slow machine no three looks fit between two blinks, and no picture would ever be still.
    """
    seen, alike = "", 0
    for one in pilot.app.screen.query(Input):
        one.cursor_blink = False
    while alike < LOOKS:
        await pilot.pause(BETWEEN_S)
        before, seen = seen, pilot.app.export_screenshot().partition("<g")[2]
        alike = alike + 1 if before == seen else 0


async def chat(pilot: Pilot[None]) -> None:
    await say(pilot, "/help")
    screen = pilot.app.screen
    await until(lambda: screen.query(Markdown) and len(screen.query(Markdown).last().source) > 100)
    await pilot.press("/", "b")


def tab(key: str) -> Opening:
    async def opened(pilot: Pilot[None]) -> None:
        if pilot.app.screen.has_class("-narrow"):
            await pilot.press("f2")
        look = pilot.app.screen.query_one(LookPane)
        look.query(TabbedContent).first().active = key
        await pilot.pause()

    return opened


async def approve(pilot: Pilot[None]) -> None:
    await still(pilot)  # what stands behind a dialog is drawn as it was when that came
    await pilot.app.push_screen(Approve(pilot.app.session, QUESTION))  # type: ignore[attr-defined]


async def by_hand(pilot: Pilot[None]) -> None:
    await still(pilot)
    await pilot.app.push_screen(Approve(pilot.app.session, BY_HAND))  # type: ignore[attr-defined]


async def budget(pilot: Pilot[None]) -> None:
    await still(pilot)
    await pilot.press("f6")
    await until(lambda: pilot.app.screen.query("#minutes"))


async def source(pilot: Pilot[None]) -> None:
    session = pilot.app.session  # type: ignore[attr-defined]
    talk = pilot.app.screen.query_one(ConversationView)
    await until(lambda: talk.query(Conclusion))
    talk.display = False
    await still(pilot)
    about = {"about": "", "calls": ["c005"], "sources": ["A work that there are no notes on."]}
    await pilot.app.push_screen(SourceScreen(session.desk, session.view, about))
    page = pilot.app.screen.query_one(Markdown)
    await until(lambda: "no notes" in page.source)


async def runs(pilot: Pilot[None]) -> None:
    await pilot.press("f3")
    await until(lambda: pilot.app.screen.query(DataTable) and pilot.app.screen.query_one(DataTable).row_count)


async def delete(pilot: Pilot[None]) -> None:
    await runs(pilot)
    await pilot.press("d")
    await until(lambda: pilot.app.screen.query("#keep"))


async def side_by_side(pilot: Pilot[None]) -> None:
    here = Path.cwd()  # the desk has begun in the folder of another test
    await say(pilot, f"/compare {here}/before.csv {here}/after.csv --metric time_s")
    await until(lambda: pilot.app.screen.query_one("#arms", Static).content)


async def cores(pilot: Pilot[None]) -> None:
    """Numbers of a machine that is none: those of this one are others every time."""
    view = pilot.app.screen.query_one(CoresView)
    await tab("cores")(pilot)
    view.on_hide()
    view.show_rates((CoreRates(0, 0.7, 0.2, 250.0, 2400.0), CoreRates(1, 0.05, 0.0, 31.0, None)))


async def table(pilot: Pilot[None]) -> None:
    """Rows as they come from the process that reads them."""
    pilot.app.screen.query_one(LookPane).close_table()
    await tab("runs")(pilot)
    rows = pilot.app.screen.query_one(PagedTable)
    rows.begin(("order", "condition", "outcome", "migrations"))
    rows.put(
        TablePage(0, 200, "outcome", True, tuple((place, "baseline", 9.5 - place / 7, None) for place in range(40)))
    )


WIDE = ("order", "tree", "factor", "compare", "cores", "ranking", "table", "steps")
"""Tabs that the check shows beside the chat; on a narrow screen the first one stands for all."""
OPENINGS: dict[str, Opening] = {
    "chat": chat,
    "distribution": tab("distribution"),
    "order": tab("order"),
    "tree": tab("tree"),
    "factor": tab("factor"),
    "compare": tab("compare"),
    "cores": cores,
    "ranking": tab("ranking"),
    "table": table,
    "steps": tab("steps"),
    "approve": approve,
    "by_hand": by_hand,
    "budget": budget,
    "source": source,
    "runs": runs,
    "delete": delete,
    "side_by_side": side_by_side,
}


@pytest.fixture
def shown(finished: RunFolder, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatSession]:
    """A finished run, and one that was cut off, in folders whose names are the same every time."""
    monkeypatch.chdir(tmp_path)
    place = Path("vgo-runs") / finished.path.name
    shutil.copytree(finished.path, place)
    record = record_of(read(finished.transcript), finished)
    write(place / RUNS, runs_csv(record))  # as a run leaves them: whoever comes to the cut opens the table
    write(place / LAYERS, write_layers(record.all_layers))
    cut = Path("vgo-runs") / "20250313-080000-cpu-hops"
    shutil.copytree(finished.path, cut)
    events = [event for event in read(finished.transcript) if not isinstance(event.body, VerdictGiven)]
    (cut / "transcript.jsonl").write_bytes(b"".join(map(line, events[:8])))
    for name, slow_s in (("before", 0.4), ("after", 0.05)):
        rows = [f"{1 + (slow_s if run % 3 == 0 else 0) + run % 7 / 100:.3f},{run % 11}" for run in range(90)]
        Path(f"{name}.csv").write_text("\n".join(("time_s,faults", *rows)))
    session = ChatSession(desk, out=Path("vgo-runs"))
    session.open(RunFolder(place))
    yield session
    session.leave()


def pictures() -> Iterator[ParameterSet]:
    """Every screen in all sizes and themes, of which one is in the check."""
    for name, size, theme in product(OPENINGS, ((80, 24), (120, 40), (200, 60)), ("dark", "light")):
        checked = ((120, 40), "dark") if name in WIDE else ((80, 24), "light")
        marks = () if (size, theme) == checked else pytest.mark.slow
        yield pytest.param(name, size, theme, id=f"{name}-{size[0]}x{size[1]}-{theme}", marks=marks)


@pytest.mark.parametrize(("name", "size", "theme"), pictures())
def test_it_looks_as_it_did(
    name: str, size: tuple[int, int], theme: str, shown: ChatSession, snap_compare: Callable[..., bool]
) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await until(lambda: isinstance(pilot.app.screen, SessionScreen))
        await OPENINGS[name](pilot)
        await still(pilot)
        wide = pilot.app.size.width
        assert all(key.region.right <= wide for key in pilot.app.screen.query(FooterKey))

    assert snap_compare(ChatApp(shown, theme), terminal_size=size, run_before=opened)
