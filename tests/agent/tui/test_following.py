"""State lives in the transcript: whatever the app shows, it shows again when it is built anew from the run folder."""

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.record import bodies, record_of
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.session_view.following import Following
from vgo_agent.agent.transcript import Decision, ToolEnd, ToolStart, line, read
from vgo_agent.agent.tui.screens.session import SessionScreen
from vgo_agent.agent.tui.widgets.card import Conclusion, StepCard
from vgo_agent.agent.tui.widgets.header import Header
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.row import RUNS

from .conftest import on_screen


def shown(screen: SessionScreen) -> list[str]:
    """All words of the chat."""
    cards = [f"{card._title.label}\n{card._body.content}" for card in screen.query(StepCard)]
    rest = [str(one.content) for one in (*screen.query(Header), *screen.query(Conclusion))]
    return [*cards, *rest]


@pytest.mark.slow
def test_the_app_built_anew_after_every_event_shows_the_same(copied: RunFolder, desk: Desk) -> None:
    lines = copied.transcript.read_bytes().splitlines(keepends=True)
    copied.transcript.write_bytes(b"")
    session = ChatSession(desk)
    session.open(copied)
    different: list[bool] = []
    before: list[str] = []

    async def follow(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, SessionScreen)
        other = SessionScreen(ChatSession(desk), {})
        await pilot.app.push_screen(other)
        for number, text in enumerate(lines):
            with copied.transcript.open("ab") as file:
                file.write(text)
            session.look()
            screen.draw()
            other.session = ChatSession(desk)
            other.session.open(copied)
            other.rebuild()
            await pilot.pause()
            followed, again = shown(screen), shown(other)
            assert followed == again, number
            different.append(again != before)
            before[:] = again

    on_screen(session, follow)
    assert len(different) == len(lines) and sum(different) > len(lines) / 2


def test_a_view_has_what_the_record_has(finished: RunFolder) -> None:
    events = read(finished.transcript)
    following = Following(finished)
    following.look()
    view, record = following.view(), record_of(events, finished)
    measuring = [end for end in bodies(events, ToolEnd) if RUNS in end.artefacts]
    assert [one.call_id for one in view.measured] == [end.call_id for end in measuring]
    for one in view.measured:
        table = record.runs(record.call(one.call_id))
        for condition in one.conditions:
            assert one.outcome(condition).tolist() == table.outcome(condition).tolist()
    assert view.used_s >= record.spent_s >= record.program_s > 0
    assert view.verdict and len(view.steps) == len(bodies(events, Decision))
    profiled = view.findings.profiled
    assert view.cut is not None and profiled is not None and len(view.cut.slow) == profiled.runs


def test_rows_that_come_in_one_by_one_are_those_of_the_table(finished: RunFolder, tmp_path: Path) -> None:
    """The same numbers, whether a table was followed while it grew or read when it was whole."""
    following = Following(finished)
    following.look()
    whole = following.view().measured[0]
    names = [name for name in whole.columns if name != "layers"]
    rows = [
        {name: float(whole.columns[name][n]) for name in names}
        | {"condition": whole.conditions[whole.condition[n]], "ok": int(whole.columns["ok"][n])}
        for n in range(len(whole))
    ]
    growing = RunFolder(tmp_path)
    events = read(finished.transcript)
    begun = next(n for n, event in enumerate(events) if isinstance(event.body, ToolEnd))
    growing.transcript.write_bytes(b"".join(map(line, events[:begun])))
    growing.partial.mkdir()
    follower = Following(growing)
    with (growing.partial / f"{whole.call_id}.jsonl").open("w") as file:
        for row in rows:
            text = json.dumps(row) + "\n"
            file.write(text[:5])
            file.flush()
            follower.look()  # a torn line is left for later
            file.write(text[5:])
            file.flush()
            assert follower.look()
    live = follower.view().measured[0]
    assert live.going_on and live.outcome().tolist() == whole.outcome().tolist()
    began_s = bodies(events[:begun], ToolStart)[-1].elapsed_s or 0.0
    assert follower.view().used_s == pytest.approx(began_s + float(whole.columns["wall_s"].sum()))


def test_a_transcript_that_was_replaced_is_read_anew(finished: RunFolder, tmp_path: Path) -> None:
    """A resume takes the end record off, by another file in the place of the first."""
    growing = RunFolder(tmp_path)
    events = read(finished.transcript)
    growing.transcript.write_bytes(b"".join(map(line, events[:3])))
    follower = Following(growing)
    follower.look()
    (tmp_path / "new").write_bytes(b"".join(map(line, events[:2])))
    (tmp_path / "new").replace(growing.transcript)
    assert follower.look() and follower.events == events[:2]


@pytest.mark.parametrize("text", [b"not json\n", b'{"seq":0}\n', b'{"body":{"kind":"of_next_year"}}\n'])
def test_an_event_of_a_newer_version_is_told_in_a_sentence(text: bytes, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.transcript.write_bytes(text)
    with pytest.raises(VgoError, match="broken, or of a newer version"):
        Following(folder).look()
