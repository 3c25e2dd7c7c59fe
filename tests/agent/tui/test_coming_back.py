"""The start screen and what it leads to, on a screen that is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rich.table import Table
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from vgo_agent.agent.chat.actions import do
from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.report.report_files import outputs
from vgo_agent.agent.report.tables import runs_csv
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.tui.screens.dialogs import DeleteScreen
from vgo_agent.agent.tui.screens.recorded import RecordedScreen
from vgo_agent.agent.tui.screens.session import SessionScreen
from vgo_agent.agent.tui.screens.start import StartScreen
from vgo_agent.agent.tui.widgets.card import StepCard
from vgo_agent.agent.tui.widgets.figure_view import FigureView
from vgo_agent.agent.tui.widgets.look_pane import LookPane
from vgo_agent.tools.row import RUNS

from ..answers.run_made import written
from ..report.conftest import MAKERS
from .conftest import on_screen, say, until


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was made without measuring."""
    run = MAKERS["confirmed"]()
    folder = written(run, tmp_path_factory.mktemp("made") / "run")
    for name, content in ({RUNS: runs_csv(run.record)} | outputs(run)).items():
        (folder / name).write_bytes(content)
    return folder


def runs_of(made: Path, tmp_path: Path, desk: Desk, count: int = 2) -> ChatSession:
    """A session that looks at copies of it."""
    for number in range(count):
        shutil.copytree(made, tmp_path / "vgo-runs" / f"run-{number}")
    return ChatSession(desk, out=tmp_path / "vgo-runs")


def text_of(pilot: Pilot[None], name: str) -> str:
    return str(pilot.app.screen.query_one(name, Static).content)


async def rows(pilot: Pilot[None], count: int) -> None:
    """Wait until so many runs are listed."""
    await until(lambda: pilot.app.screen.query_one(DataTable).row_count == count)


async def listed(pilot: Pilot[None], count: int) -> None:
    """Open the list of runs, and wait until it is filled."""
    await say(pilot, "/runs")
    await until(lambda: isinstance(pilot.app.screen, StartScreen))
    await rows(pilot, count)


@pytest.mark.slow
def test_a_past_run_is_opened_from_the_list_and_the_winner_is_taken_away(made, tmp_path, desk) -> None:
    session = runs_of(made, tmp_path, desk)

    async def talk(pilot: Pilot[None]) -> None:
        await listed(pilot, 2)
        await pilot.press("down", "enter")
        await until(lambda: isinstance(pilot.app.screen, SessionScreen) and session.view.verdict)
        await say(pilot, f"/save {tmp_path / 'taken'}")
        await until(lambda: len(list((tmp_path / "taken").glob("*-report.*"))) == 2)
        await say(pilot, f"/export {tmp_path / 'runs.csv'}")
        await until((tmp_path / "runs.columns.yaml").exists)
        await say(pilot, f"/screenshot {tmp_path / 'screen.svg'}")
        await until((tmp_path / "screen.svg").exists)

    on_screen(session, talk)
    assert session.folder is not None and session.folder.path.parent == tmp_path / "vgo-runs"
    drawn = (tmp_path / "screen.svg").read_text()
    assert drawn.startswith("<svg") and "@font-face" not in drawn and "src:" not in drawn


@pytest.mark.slow
def test_two_that_are_marked_are_held_side_by_side(made, tmp_path, desk) -> None:
    session = runs_of(made, tmp_path, desk)

    async def talk(pilot: Pilot[None]) -> None:
        await listed(pilot, 2)
        await pilot.press("c")
        assert "Mark two runs" in text_of(pilot, "#note")
        await pilot.press("space", "down", "space")
        marks = [str(pilot.app.screen.query_one(DataTable).get_row_at(row)[0]) for row in (0, 1)]
        assert marks == ["1", "2"]
        await pilot.press("c")
        await until(lambda: isinstance(pilot.app.screen, RecordedScreen))
        await until(lambda: "against" in text_of(pilot, "#headline"))
        await until(lambda: "spread ratio" in pilot.app.screen.query_one(FigureView).text)
        arms = pilot.app.screen.query_one("#arms", Static).content
        assert isinstance(arms, Table) and arms.row_count == 2
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, SessionScreen)

    on_screen(session, talk)


def test_where_nothing_can_be_compared_no_blank_figure_has_the_keys(tmp_path, desk) -> None:
    session = ChatSession(desk, out=tmp_path)

    async def talk(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(RecordedScreen(session, [str(tmp_path / "none.csv")]))
        await until(lambda: "none.csv" in text_of(pilot, "#headline"))
        assert not pilot.app.screen.query_one(FigureView).display
        await until(lambda: isinstance(pilot.app.focused, VerticalScroll))

    on_screen(session, talk)


def failed(pilot: Pilot[None]) -> str:
    """Everything that was refused in the chat."""
    return " ".join(str(one.content) for one in pilot.app.screen.query(".failed").results(Static))


def files_in(folder: Path) -> list[str]:
    """Two tables of runs, of which the second is steadier."""
    names = []
    for name, slow_s in (("before.csv", 0.4), ("after.csv", 0.05)):
        rows = [f"{1 + slow_s * (run % 3 == 0) + run % 7 / 100:.3f},{run % 3 * 5 + run % 2}" for run in range(90)]
        (folder / name).write_text("\n".join(("time_s,faults", *rows)))
        names.append(str(folder / name))
    return names


@pytest.mark.slow
def test_another_run_that_a_command_begins_goes_below_with_questions_of_its_own(made, tmp_path, desk) -> None:
    session = runs_of(made, tmp_path, desk)
    first, second = (RunFolder(tmp_path / "vgo-runs" / f"run-{number}") for number in range(2))
    session.open(first)

    async def talk(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, SessionScreen)
        await say(pilot, "/help")
        await until(lambda: screen.query(".said"))
        cards = set(screen.query(StepCard))
        screen._answered = 1
        session.open(second)  # as /again and /try after a verdict do
        screen.draw()
        await until(lambda: len(screen.query(StepCard)) == 2 * len(cards) and cards < set(screen.query(StepCard)))
        assert screen.query(".said") and screen._answered == 0

    on_screen(session, talk)


def test_a_wish_while_the_report_is_written_is_refused_and_not_lost(made, tmp_path, desk, monkeypatch) -> None:
    session = runs_of(made, tmp_path, desk, 1)
    session.open(RunFolder(tmp_path / "vgo-runs" / "run-0"))
    monkeypatch.setattr(ChatSession, "place", "ours")  # its worker has not ended yet
    reply = do(session, "/rank")
    assert reply.failed and "its report is being written" in reply.text


@pytest.mark.slow
def test_recorded_files_open_in_the_tabs_of_a_run(made, tmp_path, desk) -> None:
    session = runs_of(made, tmp_path, desk, 1)
    first, second = files_in(tmp_path)

    async def talk(pilot: Pilot[None]) -> None:
        look = pilot.app.screen.query_one(LookPane)
        await say(pilot, f"/open {first} {second}")
        await until(lambda: "--metric" in failed(pilot))
        await say(pilot, f"/open {first} {second} --metric time_s")
        await until(lambda: "90 runs" in look.view("distribution").text)
        await until(lambda: look.state.recorded)
        assert "30 of 90 runs are slow" in str(look.query_one("#look-words", Static).content)
        look.choose("compare")
        await until(lambda: "after.csv: spread ratio 0.1" in look.view("compare").text)
        assert "before.csv" in look.view("compare").text
        await pilot.press("right_square_bracket")
        await until(lambda: "after.csv, 2 of 2" in str(look.query_one("#look-words", Static).content))
        await pilot.press("escape")
        await say(pilot, "/label 1.2")
        await until(lambda: "analyze FILE --outcome time_s --cut 1.2" in failed(pilot))
        await say(pilot, "/measure")
        await until(lambda: "can be looked at" in failed(pilot))
        await say(pilot, "/again")
        await until(lambda: "no program yet" in failed(pilot))
        assert session.files is not None
        await say(pilot, "/open run-0")
        await until(lambda: session.view.verdict and session.files is None)
        await until(lambda: "after.csv" not in look.view("compare").text)

    on_screen(session, talk)


@pytest.mark.slow
def test_a_run_is_deleted_only_after_a_yes(made, tmp_path, desk) -> None:
    session = runs_of(made, tmp_path, desk)

    def left() -> int:
        return len(list((tmp_path / "vgo-runs").iterdir()))

    async def talk(pilot: Pilot[None]) -> None:
        await listed(pilot, 2)
        for keys, stays in (("enter", 2), ("escape", 2), ("y n escape", 2), ("tab enter", 1)):
            await pilot.press("d")
            await until(lambda: isinstance(pilot.app.screen, DeleteScreen))
            await pilot.press(*keys.split())
            await until(lambda: isinstance(pilot.app.screen, StartScreen))
            await rows(pilot, stays)
            assert left() == stays
        await until(lambda: "is deleted" in text_of(pilot, "#note"))

    on_screen(session, talk)


def test_broken_folders_are_listed_with_why_and_not_opened(made, tmp_path, desk) -> None:
    session = runs_of(made, tmp_path, desk, 1)
    transcript = tmp_path / "vgo-runs" / "run-0" / "transcript.jsonl"
    transcript.write_text(transcript.read_text().replace('"format":1', '"format":99', 1))

    async def talk(pilot: Pilot[None]) -> None:
        await listed(pilot, 1)
        await pilot.press("enter")
        assert "A newer vgo-agent made it (format 99" in text_of(pilot, "#note")
        assert isinstance(pilot.app.screen, StartScreen)
        await pilot.press("r")
        assert isinstance(pilot.app.screen, StartScreen)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, SessionScreen)

    on_screen(session, talk)


def test_without_runs_it_says_how_to_begin_one(tmp_path, desk) -> None:
    session = ChatSession(desk, out=tmp_path / "none")

    async def talk(pilot: Pilot[None]) -> None:
        await say(pilot, "/runs")
        await until(lambda: isinstance(pilot.app.screen, StartScreen))
        await until(lambda: "There are no runs in" in text_of(pilot, "#note"))

    on_screen(session, talk)
