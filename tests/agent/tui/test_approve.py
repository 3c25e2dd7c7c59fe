"""The question before a change: what is typed asks about it, and only a number or a button answers it."""

from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Static

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.consent import FOUR
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.record import bodies
from vgo_agent.agent.replay import replay
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.transcript import Approval, VerdictGiven, read
from vgo_agent.agent.tui.screens.dialogs import ApprovalInput, Approve
from vgo_agent.agent.tui.screens.session import SessionScreen
from vgo_agent.agent.tui.widgets.card import Conclusion, StepCard
from vgo_agent.agent.tui.widgets.header import Header, PromptInput
from vgo_agent.tools.subject import TrialPlan

from .conftest import on_screen, say, until

ASKED = {
    "key": "thp_always",
    "mitigation": "Transparent huge pages always",
    "scope": "system",
    "why": "next for this factor",
    "origin": "rules",
    "would": ["write always to /sys/kernel/mm/transparent_hugepage/enabled (now madvise)"],
    "hurts": "Every program on the machine uses more memory.",
    "sources": ["Linux kernel documentation"],
    "steps": [],
}
NOTHING = object()


class Asking:
    """The dialog over a finished run; remembers what it gave."""

    def __init__(self, folder: RunFolder, desk: Desk) -> None:
        self.session = ChatSession(desk)
        self.session.open(folder)
        self.given: object = NOTHING

    async def open(self, pilot: Pilot[None], **more: object) -> Approve:
        screen = Approve(self.session, ASKED | more)
        pilot.app.push_screen(screen, lambda given: setattr(self, "given", given))
        await until(lambda: screen.query(ApprovalInput) and screen.query_one(ApprovalInput).has_focus)
        return screen


@pytest.fixture
def asking(copied: RunFolder, desk: Desk) -> Asking:
    return Asking(copied, desk)


def said(screen: Approve) -> str:
    return "\n".join(str(one.content) for one in screen.query("#words, .said").results(Static))


async def typed(pilot: Pilot[None], words: str) -> None:
    await pilot.press(*(("space" if letter == " " else letter) for letter in words), "enter")


@pytest.mark.slow
def test_letters_and_enter_answer_nothing_whatever_they_say(asking: Asking) -> None:
    async def talk(pilot: Pilot[None]) -> None:
        screen = await asking.open(pilot)
        await pilot.press("enter", "enter")
        for count, words in enumerate(("yes", "deny", "no"), 1):
            await typed(pilot, words)
            await until(lambda: said(screen).count("Letters answer nothing") == count)  # noqa: B023 - awaited here
        await pilot.press("n", "o", "tab", "enter")  # a word that is being typed never ends on a button
        await until(lambda: said(screen).count("Letters answer nothing") == count + 1)
        assert pilot.app.screen is screen and asking.given is NOTHING

    on_screen(asking.session, talk)


@pytest.mark.parametrize(
    ("words", "answered"),
    [
        ("what does it change", "write always to /sys/kernel/mm/transparent_hugepage/enabled (now madvise)"),
        ("why", "The planner (rules) chose it: next for this factor."),
        ("is it safe", "Every program on the machine uses more memory."),
        ("how is it put back", "before anything is written, its value goes into a journal"),
    ],
)
@pytest.mark.cells(1)
def test_a_question_is_answered_in_the_dialog_and_decides_nothing(asking: Asking, words: str, answered: str) -> None:
    async def talk(pilot: Pilot[None]) -> None:
        screen = await asking.open(pilot)
        await typed(pilot, words)
        await until(lambda: answered in said(screen).partition(f"> {words}")[2])
        assert pilot.app.screen is screen and asking.given is NOTHING

    on_screen(asking.session, talk)


@pytest.mark.parametrize(("number", "key"), [(n, one.key) for n, one in enumerate(FOUR, 1)])
@pytest.mark.cells(1)
def test_a_number_and_enter_is_an_answer_and_so_is_its_button(asking: Asking, number: int, key: str) -> None:
    async def talk(pilot: Pilot[None]) -> None:
        await asking.open(pilot)
        await typed(pilot, str(number))
        await until(lambda: asking.given is not NOTHING)
        assert asking.given == {"answer": key, "reason": ""}
        asking.given = NOTHING
        screen = await asking.open(pilot)
        assert str(screen.query_one(f"#{key}", Button).label).startswith(f"{number} ")
        await pilot.press(*["tab"] * number, "enter")
        await until(lambda: asking.given is not NOTHING)
        assert asking.given == {"answer": key, "reason": ""}

    on_screen(asking.session, talk)


def test_escape_is_not_now_and_help_stop_and_leaving_work(asking: Asking) -> None:
    async def talk(pilot: Pilot[None]) -> None:
        screen = await asking.open(pilot)
        await pilot.press("f1")
        await until(lambda: "Escape is not now" in said(screen))
        await pilot.press("f8")
        await until(lambda: "Nothing goes on" in said(screen))  # as the chat says of this run, which has ended
        await typed(pilot, "/status")
        await until(lambda: "Now: cause explained, remedy confirmed" in said(screen))
        assert asking.given is NOTHING
        await pilot.press("escape")
        await until(lambda: asking.given is None and isinstance(pilot.app.screen, SessionScreen))
        await asking.open(pilot)
        await pilot.press("ctrl+q")
        await until(lambda: not pilot.app.is_running or pilot.app._exit)

    on_screen(asking.session, talk)


def test_on_a_small_screen_a_long_text_scrolls_and_every_answer_is_seen(asking: Asking) -> None:
    async def talk(pilot: Pilot[None]) -> None:
        screen = await asking.open(pilot, would=[f"write {number} to /x/{number}" for number in range(60)])
        await pilot.pause()
        text, height = screen.query_one("#text"), pilot.app.size.height
        assert all(0 <= one.region.y < height - 1 and one.region.height == 1 for one in screen.query(Button))
        assert screen.query_one(ApprovalInput).region.height == 1 and text.max_scroll_y > 30
        await pilot.press("pagedown")
        assert text.scroll_y > 0

    on_screen(asking.session, talk, size=(80, 24))


@pytest.mark.slow
def test_a_question_of_a_real_run_is_put_off_stopped_asked_again_and_refused_for_good(session: ChatSession) -> None:
    """The whole way: nothing pops up into a line, Escape leaves it waiting, F8 ends it, and it replays."""

    def waits() -> bool:
        return session.state.question is not None

    def header(pilot: Pilot[None]) -> str:
        return str(pilot.app.screen.query_one(Header).content)

    async def talk(pilot: Pilot[None]) -> None:
        screen, line = pilot.app.screen, pilot.app.screen.query_one(PromptInput)
        line.value = "half a line"
        await until(lambda: waits() and "waits for your answer" in header(pilot))
        assert pilot.app.screen is screen
        line.value = ""
        await until(lambda: isinstance(pilot.app.screen, Approve))
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await say(pilot, "/status")
        await until(lambda: any("needs your answer" in one.reply.text for one in screen._talk))  # type: ignore[attr-defined]
        await pilot.press("f7")
        await until(lambda: isinstance(pilot.app.screen, Approve) and pilot.app.screen.query(ApprovalInput))
        await pilot.press("f8")
        await until(lambda: session.view.status == "interrupted" and session.place == "still")
        await until(lambda: pilot.app.screen is screen)
        await say(pilot, "/resume")
        await until(lambda: isinstance(pilot.app.screen, Approve) and pilot.app.screen.query(ApprovalInput))
        await typed(pilot, "3")
        await until(lambda: session.view.status == "finished" and session.place == "still")
        await until(lambda: len(screen.query(Conclusion)) == 1)

    assert session.new is not None
    trial = {"planner": "fixed", "plan": TrialPlan(mitigation="thp_always")}
    session.new = replace(session.new, request=session.new.request.model_copy(update=trial))
    session.begin()
    on_screen(session, talk)
    assert session.folder is not None
    events = read(session.folder.transcript)
    (answer,) = bodies(events, Approval)
    assert (answer.granted, answer.by, answer.standing) == (False, "user", "deny system")
    assert bodies(events, VerdictGiven)[0].verdict == "cause not sought, remedy not tried"
    report = replay(session.folder)
    assert report.ok, report.difference


@pytest.mark.slow
def test_what_was_said_stays_above_another_run(session: ChatSession, copied: RunFolder) -> None:
    session.open(copied)

    async def talk(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        await say(pilot, "/status")
        await until(lambda: len(screen.query(".said")) == 1 and len(screen.query(Conclusion)) == 1)
        cards = len(screen.query(StepCard))
        await say(pilot, "/again")
        await until(lambda: session.folder is not None and session.folder.path != copied.path)
        await until(lambda: len(screen.query(".another")) == 1)
        await until(lambda: "/again" in str(screen.query(".said").last(Static).content))
        assert len(screen.query(Conclusion)) == 1 and len(screen.query(StepCard)) >= cards
        await until(lambda: session.place == "still" or session.view.steps)
        assert str(screen.query(".said").first(Static).content) == "> /status"

    on_screen(session, talk)
