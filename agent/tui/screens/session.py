"""A run: the chat, and beside it the tabs that look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from ....knowledge.errors import VgoError
from ...chat.actions import do
from ...chat.status import progress_of
from ...chat.words import ChatReply, Exchange, keep, kept
from ...session_view.view import SessionView
from ..messages import CutKept, LineSubmitted, QuestionRefused, SourceAsked, StepAsked
from ..widgets.card import ConversationView, StepCard
from ..widgets.header import Header, Keys, Prompt, PromptInput
from ..widgets.look_pane import LookPane
from .dialogs import Approve, show_from_thread

if TYPE_CHECKING:
    from ...chat.session import ChatSession

LOOK_EVERY_S = 0.2
WIDE, NARROW, SHORT = 110, 40, 10
"""Columns at which tabs stand beside the chat; columns and lines below which nothing can be drawn."""


class SessionScreen(Screen[None]):
    """Follows one run; whatever it shows can be had again from the run folder."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (NARROW, "-narrow"), (WIDE, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SHORT, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,ctrl+t", "turn", "Chat/Look"),
        Binding("f3", "say('/runs')", "Runs"),
        Binding("f5", "pause", "Pause"),
        Binding("f6", "say('/budget')", "Budget"),
        Binding("f7", "say('/answer')", "Answer"),
        Binding("f8", "say('/stop')", "Stop"),
        Binding("escape", "focus_line", "Type", show=False),
    ]
    CSS = """
    SessionScreen ConversationView { width: 1fr; }
    SessionScreen.-wide LookPane { width: 1fr; border-left: solid $primary; }
    SessionScreen.-narrow LookPane { display: none; }
    SessionScreen.-narrow.-looking LookPane { display: block; width: 1fr; }
    SessionScreen.-narrow.-looking ConversationView { display: none; }
    SessionScreen #foot { height: auto; dock: bottom; }
    SessionScreen #foot Keys { dock: initial; }
    SessionScreen #small { display: none; height: 1fr; }
    SessionScreen.-tiny #small, SessionScreen.-flat #small { display: block; }
    SessionScreen.-tiny .drawn, SessionScreen.-flat .drawn { display: none; }
    """

    def __init__(self, session: ChatSession, opened: Mapping[str, Callable[[SessionScreen, ChatReply], None]]) -> None:
        super().__init__()
        self.session = session
        self._opened = opened
        """What a reply can open."""
        self._talk: list[Exchange] = []
        self._before: list[tuple[list[Exchange], SessionView]] = []
        """What was said about the runs that stand above this one, each with its run as it was left."""
        self._shown: SessionView = session.view
        self._followed: Path | None = None
        """The folder of the run that is shown."""
        self._answered = 0
        """Number of the last question of that run that was put."""
        self._busy = 0

    def compose(self) -> ComposeResult:
        yield Header(classes="drawn")
        yield Static(f"Too small: make the terminal {NARROW}x{SHORT}, or use --plain.", id="small", markup=False)
        with Horizontal(classes="drawn"):
            yield ConversationView()
            yield LookPane()
        with Vertical(id="foot", classes="drawn"):
            yield Prompt()
            yield Keys()

    def on_mount(self) -> None:
        self.action_focus_line()
        self.rebuild()
        self.set_interval(LOOK_EVERY_S, self._look)

    def rebuild(self) -> None:
        folder = self.session.folder
        self._followed, self._answered = folder.path if folder else None, 0
        self._talk = list(kept(folder)) if folder else []
        self._before.clear()
        self.query_one(ConversationView).clear()
        self.draw()

    def _follow(self) -> None:
        """Go on below what stands there where a command has begun another run: its calls have names of those before."""
        folder = self.session.folder
        if folder is None or folder.path == self._followed:
            return
        if self._followed is not None:  # what was said before the first run is said of that run
            self._before.append((self._talk, self._shown))
            self._talk = []
            self.query_one(ConversationView).settle(f"Another run: {folder.path}")
        self._followed, self._answered = folder.path, 0

    def show_files(self) -> None:
        """Show recorded files; of what was said, the last, which names them."""
        self._talk = self._talk[-1:]
        self.query_one(ConversationView).clear()
        self.draw(fresh=True)

    def draw(self, fresh: bool = False) -> None:
        self._follow()
        session = self.session
        self._shown = session.view
        self.query_one(Header).show(session, busy=self._busy > 0)
        self.query_one(ConversationView).show(session.view, self._talk, progress_of(session.view), fresh)
        self.query_one(LookPane).show(session.view, _measuring(session), session.files)
        self._ask_for_approval()

    @work(thread=True, exclusive=True, group="look")
    def _look(self) -> None:
        if self.session.look():
            show_from_thread(self, self.draw)

    def on_cut_kept(self, event: CutKept) -> None:
        self.action_say(f"/label {event.cut!r}")

    def on_question_refused(self, event: QuestionRefused) -> None:
        self.notify(event.sentence, severity="warning", markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the question that has waited for the end of the line."""
        if not event.value:
            self._ask_for_approval()

    def on_line_submitted(self, event: LineSubmitted) -> None:
        self.action_say(event.line)

    def action_say(self, line: str) -> None:
        self._busy += 1
        self.draw()
        self._do(line, self.session.view.events)

    @work(thread=True, group="do")
    def _do(self, line: str, events: int) -> None:
        reply = do(self.session, line)
        self.session.look()
        show_from_thread(self, self._reply, line, reply, events)

    def _reply(self, line: str, reply: ChatReply, events: int) -> None:
        """Show the answer where the line was said: what it began may be on the screen already."""
        self._busy -= 1
        self._follow()
        events = min(events, self.session.view.events)  # another run may go on now
        exchange = Exchange(line, replace(reply, text=reply.brief or reply.text), events)
        if reply.text and reply.opens != "runs":
            self._talk.append(exchange)
            if self.session.folder:
                keep(self.session.folder, exchange)
        self.draw(fresh=True)
        self._open(reply)

    def _open(self, reply: ChatReply) -> None:
        if reply.opens == "quit":
            self.app.call_later(self.app.action_quit)
        elif reply.opens in self._opened:
            self._opened[reply.opens](self, reply)

    def save_picture(self, name: str) -> None:
        self._write_picture(self.app.export_screenshot(), Path(name))

    @work(thread=True)
    def _write_picture(self, svg: str, path: Path) -> None:
        from ...chat.past_runs import write_picture

        try:
            write_picture(svg, path)
        except VgoError as error:
            self.app.call_from_thread(self.app.notify, str(error), severity="error")
        else:
            self.app.call_from_thread(self.app.notify, f"Saved: {path.absolute()}")

    def _ask_for_approval(self) -> None:
        """Show the question that waits, once, and not while a line is being typed: its end would be an answer."""
        question = self.session.state.question
        if question is None:
            self._answered = 0  # a worker that goes on later counts from one again
            if isinstance(self.app.screen, Approve):
                self.app.screen.dismiss(None)  # the worker has ended, or another answered
        if question is None or not self.session.state.in_charge or question["number"] == self._answered:
            return
        if self.app.screen is self and not self.query_one(PromptInput).value:
            self.show_question()

    def show_question(self) -> None:
        question = self.session.state.question
        if question is not None:
            self._answered = question["number"]
            self.app.push_screen(Approve(self.session, question), self._approve)

    def _approve(self, given: dict[str, str] | None) -> None:
        if given is None:  # not now
            return
        try:
            self.session.answer(**given)
        except VgoError as error:
            self.app.notify(str(error), severity="error")

    def on_source_asked(self, event: SourceAsked) -> None:
        for talk, view in ((self._talk, self.session.view), *reversed(self._before)):
            for one in (one for exchange in reversed(talk) for one in exchange.reply.sources):
                if one["tag"] == event.tag:
                    from .recorded import SourceScreen

                    self.app.push_screen(SourceScreen(self.session.desk, view, one))
                    return

    def on_step_asked(self, event: StepAsked) -> None:
        self.remove_class("-looking")
        for card in self.query(f".card-{event.call_id}").results(StepCard):
            card.collapsed = False
            card.scroll_visible()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to answer where something waits for it."""
        return parameters != ("/answer",) or self.session.state.question is not None

    def action_pause(self) -> None:
        self.action_say("/resume" if self.session.state.paused else "/pause")

    def action_turn(self) -> None:
        """Turn between chat and tabs: the keys go there, and a narrow screen shows only that."""
        look = self.query_one(LookPane)
        looking = look.has_focus_within if self.has_class("-wide") else self.has_class("-looking")
        if looking:
            self.action_focus_line()
        else:
            self.add_class("-looking")
            look.focus_tab()

    def action_focus_line(self) -> None:
        self.remove_class("-looking")
        self.query_one(PromptInput).focus()


def _measuring(session: ChatSession) -> bool:
    """Whether the program may run now, so that heavy work would disturb it."""
    return (
        session.place in ("ours", "watching", "elsewhere")
        and session.view.status == "going on"
        and not (session.state.paused or session.state.waiting or session.state.question)
    )
