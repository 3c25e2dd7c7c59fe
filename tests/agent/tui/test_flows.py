"""A diagnosis by talking: with real workers, keys and clicks, on a screen that is none."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static
from textual.worker_manager import WorkerManager

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.history import history
from vgo_agent.agent.record import bodies
from vgo_agent.agent.replay import replay
from vgo_agent.agent.transcript import Approval, Decision, LimitsChanged, RunEnd, ToolEnd, read
from vgo_agent.agent.tui.screens import start
from vgo_agent.agent.tui.screens.dialogs import ApprovalInput, Approve, BudgetDialog, Dialog
from vgo_agent.agent.tui.screens.recorded import RecordedScreen, SourceScreen
from vgo_agent.agent.tui.screens.session import SessionScreen
from vgo_agent.agent.tui.screens.start import StartScreen
from vgo_agent.agent.tui.widgets.card import Conclusion, ConversationView, StepCard
from vgo_agent.agent.tui.widgets.header import PromptInput
from vgo_agent.agent.tui.widgets.look_pane import LookPane
from vgo_agent.knowledge.errors import VgoError

from .conftest import looking, on_screen, request_in, say, until

REASON = "not on this machine"


def waits(session: ChatSession) -> bool:
    return session.state.waiting and not session.state.wishes


def test_on_a_narrow_screen_escape_leads_back_to_the_chat(copied, desk) -> None:
    session = ChatSession(desk)
    session.open(copied)

    async def talk(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        look, chat, line = (
            screen.query_one(LookPane),
            screen.query_one(ConversationView),
            screen.query_one(PromptInput),
        )
        await pilot.press("f2", "3")
        await until(lambda: look.display and look.has_focus_within and not chat.display)
        await pilot.press("escape")
        await until(lambda: chat.display and line.has_focus and not look.display)
        await pilot.press("f2")
        await until(lambda: look.display and look.has_focus_within)
        await pilot.press("f2")
        await until(lambda: chat.display and line.has_focus)

    on_screen(session, talk, size=(80, 24))


def test_a_run_that_is_left_is_no_part_of_the_one_that_is_opened(session, copied) -> None:
    session.begin("step")
    begun = session.folder
    session.open(copied)
    assert session.place == "still"
    with pytest.raises(VgoError, match="Nothing goes on"):
        session.tell("stop")
    session.open(begun)
    asyncio.run(until(looking(session, lambda: session.place == "ours")))


@pytest.mark.slow
def test_every_step_by_talking_and_the_run_replays(session: ChatSession) -> None:
    said = ["measure it", "/profile", "/label 1e9", "label", "/tree", "rank the factors", "/lookup page_faults"]

    async def talk(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, SessionScreen)
        for line in said:
            before = len(session.view.steps)
            await say(pilot, line)
            await until(lambda: len(session.view.steps) > before and waits(session))  # noqa: B023 - awaited here
            await until(lambda: len(screen.query(StepCard)) > before)  # noqa: B023
        await say(pilot, "/budget 20 90")
        await until(lambda: session.state.limits)
        await say(pilot, "/try thp_always")
        await until(lambda: isinstance(pilot.app.screen, Approve) and pilot.app.screen.query("#no"))
        shown = str(pilot.app.screen.query_one("#words").content)  # type: ignore[attr-defined]
        assert "write always to /sys/kernel/mm/transparent_hugepage/enabled" in shown and "source:" in shown
        pilot.app.screen.query_one(ApprovalInput).value = f"4 because {REASON}"
        await pilot.press("enter")
        await until(lambda: waits(session) and session.view.steps[-1].state == "denied")
        await say(pilot, "/report")
        await until(lambda: session.view.status == "finished" and session.place == "still")
        await until(lambda: len(screen.query(StepCard)) == len(said) + 2 and len(screen.query(Conclusion)) == 1)

        order = [type(one) for one in screen.query(".said, StepCard")]
        assert order[:4] == [Static, StepCard, Static, StepCard]  # what was said, then what came of it

    session.new = request_in(session.new.out.parent, allow="process") if session.new else None
    on_screen(session, talk)
    assert session.folder is not None
    events = read(session.folder.transcript)
    decisions = bodies(events, Decision)
    assert {decision.origin for decision in decisions} == {"user"}
    ends = {end.call_id: end for end in bodies(events, ToolEnd)}
    assert "leaves one class empty" in ends["c003"].error
    (answer,) = bodies(events, Approval)
    assert (answer.granted, answer.by, answer.reason) == (False, "user", REASON)
    (changed,) = bodies(events, LimitsChanged)
    assert (changed.limits.budget_s, changed.limits.max_runs) == (1200, 90)
    report = replay(session.folder)
    assert report.ok, report.difference


@pytest.mark.slow
def test_pause_budget_kill_and_attach_again(session: ChatSession, desk: Desk) -> None:
    async def talk(pilot: Pilot[None]) -> None:
        await until(lambda: session.view.runs >= 3)
        await pilot.press("f5")
        await until(lambda: session.state.paused)
        await until(lambda: not session.look())
        runs = session.view.runs
        await pilot.pause(0.3)
        session.look()
        assert session.view.runs <= runs + 1  # the one that was going on
        await pilot.press("f6")
        await until(lambda: isinstance(pilot.app.screen, BudgetDialog) and pilot.app.screen.query("#set"))
        pilot.app.screen.query_one("#minutes", Input).value = "20"
        await pilot.click("#set")
        await until(lambda: session.state.limits.get("budget_s") == 1200)

    on_screen(session, talk, begin=True)
    folder = session.folder
    assert folder is not None
    session.leave()  # the app dies; its worker does not
    back, other = ChatSession(desk), ChatSession(desk)

    async def again(pilot: Pilot[None]) -> None:
        await until(lambda: back.state.in_charge)
        other.open(folder)
        await until(looking(other, lambda: other.place == "watching"))
        await say(pilot, "go on")
        await until(lambda: len(back.view.steps) >= 2 and back.view.steps[1].state != "chosen")
        os.kill(worker_of(back), signal.SIGKILL)
        await until(lambda: back.place == "still")
        cut_off_at = back.view.events
        await say(pilot, "/resume")
        # Whoever stops it before its first event leaves the run as it was: cut off, not interrupted.
        await until(lambda: back.state.in_charge and back.view.events > cut_off_at)
        await pilot.press("f8")
        await until(lambda: back.place == "still")

    back.open(folder)
    on_screen(back, again)
    events = read(folder.transcript)
    (changed,) = bodies(events, LimitsChanged)
    assert changed.limits.budget_s == 1200 and back.view.limits.budget_s == 1200
    # A worker that has no turn for the signal, as while it loads a library, is ended without a last event.
    assert [one.status for one in bodies(events, RunEnd)] in (["interrupted"], [])


def worker_of(session: ChatSession) -> int:
    """The process that holds the folder, by the kernel's table of locks."""
    assert session.folder is not None
    inode = (session.folder.path / ".lock").stat().st_ino
    with open("/proc/locks") as table:
        holders = [line.split()[4] for line in table if line.split()[5].endswith(f":{inode}")]
    return int(holders[0])


@pytest.mark.parametrize("kind", ["source", "runs", "recorded"])
@pytest.mark.cells(1)
def test_a_screen_that_is_left_before_it_has_its_contents_is_left(kind, copied, desk: Desk, monkeypatch) -> None:
    came = threading.Event()
    session = ChatSession(desk)
    session.open(copied)
    asked, listed = desk.ask, history
    monkeypatch.setattr(desk, "ask", lambda *args, **about: came.wait() and asked(*args, **about))
    monkeypatch.setattr(start, "history", lambda out: came.wait() and listed(out))
    monkeypatch.setattr(WorkerManager, "cancel_node", lambda workers, node: [])  # the worker is ahead of its end
    opened: dict[str, Callable[[], Dialog[Any]]] = {
        "source": lambda: SourceScreen(desk, session.view, {"sources": ["x"]}),
        "runs": lambda: StartScreen(session),
        "recorded": lambda: RecordedScreen(session, ["no-file.csv"]),
    }

    async def talk(pilot: Pilot[None]) -> None:
        below = pilot.app.screen
        pilot.app.push_screen(opened[kind]())
        await until(lambda: pilot.app.screen is not below)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is below)
        came.set()
        for one in [one for one in pilot.app.workers if one.name != "_look"]:  # a newer look cancels an older one
            await one.wait()

    on_screen(session, talk)


def test_a_question_is_answered_with_references_that_open(copied, desk: Desk) -> None:
    session = ChatSession(desk)
    session.open(copied)

    async def talk(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, SessionScreen)
        await say(pilot, "why is it slow?")
        await until(lambda: screen._talk and screen._talk[-1].reply.sources)
        tag = screen._talk[-1].reply.sources[0]["tag"]
        assert f"(source:{tag})" in screen._talk[-1].reply.text
        from textual.widgets import Markdown

        link = Markdown.LinkClicked(screen.query(Markdown).last(), f"source:{tag}")
        screen.query(Markdown).last().post_message(link)
        await until(lambda: type(pilot.app.screen).__name__ == "SourceScreen")
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)

    on_screen(session, talk)
    again = ChatSession(desk)
    again.open(copied)

    async def look(pilot: Pilot[None]) -> None:
        assert [one.line for one in pilot.app.screen._talk] == ["why is it slow?"]  # type: ignore[attr-defined]

    on_screen(again, look)
