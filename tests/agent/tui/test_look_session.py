"""The tabs beside the chat: what they show of a run is what its record says, also when it is computed again."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.look.messages import Looking, ReadPage, Refit
from vgo_agent.agent.look.of_session import looking_of
from vgo_agent.agent.look.open_run import OpenRun, open_run
from vgo_agent.agent.look.open_table import OpenTable, open_file
from vgo_agent.agent.record import record_of
from vgo_agent.agent.report.tables import runs_csv
from vgo_agent.agent.run_folder import RunFolder, write
from vgo_agent.agent.session_view.following import Following
from vgo_agent.agent.session_view.view import EMPTY, SessionView, view_of
from vgo_agent.agent.transcript import ToolEnd, read
from vgo_agent.agent.tui.widgets.look_pane import LookPane
from vgo_agent.agent.tui.widgets.sorted_table import SortedTable, StepsTable
from vgo_agent.tools.candidates import ORDER
from vgo_agent.tools.run_table import LAYERS, RUNS, write_layers

from .conftest import on_screen, until


@pytest.fixture(scope="module")
def whole(finished: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """With the table and the layers beside the record, as a run leaves them."""
    folder = RunFolder(Path(shutil.copytree(finished.path, tmp_path_factory.mktemp("whole") / "run")))
    record = record_of(read(folder.transcript), folder)
    write(folder.path / RUNS, runs_csv(record))
    write(folder.path / LAYERS, write_layers(record.all_layers))
    return folder


@pytest.fixture(scope="module")
def view(finished: RunFolder) -> SessionView:
    following = Following(finished)
    following.look()
    return following.view()


@pytest.fixture(scope="module")
def opened(whole: RunFolder) -> OpenTable:
    table = open_file(whole.path)
    assert table.opened().rows == table.frame.height
    assert isinstance(table.fits, OpenRun)
    return table


def test_what_is_shown_is_what_the_record_says(view: SessionView) -> None:
    found = looking_of(view)
    assert view.cut is not None and found.cut == view.cut.value
    assert int((found.outcomes.values > found.cut).sum()) == sum(view.cut.slow)
    assert [one.name for one in found.factors] == [one.factor for one in view.findings.factors]
    assert len(found.overlays) == len([one for one in view.measured if one.tool == "apply_mitigation"])
    compared = [step.result for step in view.steps if step.tool == "compare" and step.result]
    for shown, said in zip(reversed(found.overlays), compared, strict=True):
        spread = said["comparison"]["claims"]["spread"]
        assert shown.ratio == (spread["ratio"], spread["low"], spread["high"])


def test_modes_are_marked_as_soon_as_a_measurement_has_ended(finished: RunFolder) -> None:
    events = list(read(finished.transcript))
    ends = [number for number, event in enumerate(events, 1) if isinstance(event.body, ToolEnd)]
    found = [view_of(events[:number], [], "") for number in (ends[0] - 1, ends[0], ends[-1])]
    measured = found[1].findings.measured
    assert found[0].modes == () and found[1].cut is None and measured is not None
    assert looking_of(found[1]).modes == tuple(mode.position for mode in measured.shape.modes) != ()
    assert found[2].cut is not None
    assert looking_of(found[2]).modes == tuple(mode.position for mode in found[2].cut.shape.modes)


def test_the_runs_that_are_opened_are_those_that_are_drawn(view: SessionView, opened: OpenTable) -> None:
    drawn, again = looking_of(view), opened.fits.shaped()
    assert again.cut == drawn.cut
    assert np.array_equal(again.outcomes.values, drawn.outcomes.values)
    assert ORDER in drawn.scatters
    assert len(drawn.scatters) == len(drawn.factors)
    for name, scatter in drawn.scatters.items():
        assert np.array_equal(opened.fits.column(name).values, scatter.values, equal_nan=True)
    assert len(opened.page(ReadPage(count=10)).rows) == 10


def test_an_exact_refit_at_the_recorded_cut_is_the_record(view: SessionView, opened: OpenTable) -> None:
    recorded = looking_of(view)
    assert recorded.cut is not None
    found = opened.fits.refit(Refit(recorded.cut, exact=True))
    assert found.factors == recorded.factors
    assert found.tree == recorded.tree
    quick = opened.fits.refit(Refit(recorded.cut))
    assert quick.tree == found.tree and {one.column for one in quick.factors} < {one.column for one in found.factors}


def test_a_cut_between_the_runs_labels_and_one_beside_them_does_not(opened: OpenTable) -> None:
    values = opened.fits.shaped().outcomes.values
    middle = float(np.median(values))
    assert opened.fits.refit(Refit(middle)).n_slow == int((middle < values).sum())
    assert opened.fits.refit(Refit(float(values.max()))).reason == "The cut leaves 0 runs on one side, which needs 5."


def test_a_run_without_a_profile_is_nothing_to_refit(tmp_path) -> None:
    assert open_run(tmp_path) is None
    assert looking_of(EMPTY) == Looking() or looking_of(EMPTY).outcomes.values.size == 0


@pytest.mark.slow
def test_the_tabs_follow_the_run_and_a_kept_cut_is_said_in_the_chat(whole: RunFolder, desk: Desk) -> None:
    session = ChatSession(desk)
    session.open(whole)

    async def talk(pilot: Pilot[None]) -> None:
        look = pilot.app.screen.query_one(LookPane)
        distribution = look.view("distribution")
        await until(lambda: "runs are slow" in distribution.text)
        assert look.query_one("#look-ranking", SortedTable).row_count == len(session.view.findings.factors)
        assert look.query_one(StepsTable).row_count == len(session.view.steps)
        look.choose("compare")
        await until(lambda: "spread ratio" in look.view("compare").text)
        look.choose("distribution")
        await until(lambda: pilot.app.focused is distribution and distribution.step)
        await pilot.press("right")
        await until(lambda: look.state.fitted)
        await pilot.press("enter")
        await until(lambda: "/label" in said(pilot))

    on_screen(session, talk, (140, 40))
    session.leave()


def said(pilot: Pilot[None]) -> str:
    return " ".join(str(one.content) for one in pilot.app.screen.query(".said"))  # type: ignore[attr-defined]
