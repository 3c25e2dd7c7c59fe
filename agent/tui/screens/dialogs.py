"""What every screen above a run has in common: help and leaving work there as they do below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from rich.text import Text
from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup, Vertical, VerticalGroup, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, Label, Static

from ....knowledge.errors import VgoError
from ...chat.actions import do
from ...consent import answers_to, numbered, typed
from ...desk.markdown import unmarked
from ...history import ListedRun, size
from ...progress import LATER, asked
from ...session_view.view import SessionView
from ...terminal import printable
from ..widgets.header import Keys

if TYPE_CHECKING:
    from ...chat.session import ChatSession

Given = TypeVar("Given")
Shown = ParamSpec("Shown")


def show_from_thread(
    screen: Screen[Given], show: Callable[Shown, object], *args: Shown.args, **kwargs: Shown.kwargs
) -> None:
    """Call `show` in the thread of the app, unless the screen was left while its worker looked for what to show."""
    if screen.is_attached:
        app: App[object] = screen.app
        app.call_from_thread(lambda: show(*args, **kwargs) if screen.display else None)


class Dialog(ModalScreen[Given]):
    """Textual takes the keys of the app away from a modal screen; these give them back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1", "help", "Help"), Binding("ctrl+q", "app.quit", "Leave")]
    HELP_WORDS: ClassVar[str] = "Escape goes back."
    """What F1 says."""
    FOCUSED: ClassVar[str] = "VerticalScroll"
    """What has the keys at first, even where the terminal itself has lost the focus meanwhile."""

    def on_mount(self) -> None:
        self.query_one(self.FOCUSED).focus()

    def action_help(self) -> None:
        self.notify(self.HELP_WORDS, title="Help", markup=False, timeout=15)


class BudgetDialog(Dialog[str]):
    """Gives the command that sets the budget; None where it is left as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Leave it")]
    FOCUSED = "#minutes"
    HELP_WORDS = "Enter sets both numbers, from the next step on; Escape leaves them as they are."
    CSS = """
    BudgetDialog { align: center middle; }
    BudgetDialog > Vertical { width: 60; max-width: 95%; height: auto; border: thick $primary; background: $surface;
        padding: 0 1; }
    BudgetDialog Button { margin: 0 1 0 0; }
    BudgetDialog HorizontalGroup { height: auto; }
    """

    def __init__(self, view: SessionView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        limits, spent = self._view.limits, self._view.used_s
        with Vertical():
            yield Label(f"Used: {spent / 60:.1f} of {limits.budget_s / 60:g} minutes by the clock.")
            yield Label("Minutes:")
            yield Input(f"{limits.budget_s / 60:g}", type="number", id="minutes", compact=True)
            yield Label("Runs of one condition at most:")
            yield Input(str(limits.max_runs), type="integer", id="runs", compact=True)
            yield Label("It holds from the next step on.")
            with HorizontalGroup():
                yield Button("Set", id="set", variant="primary", compact=True)
                yield Button("Leave it", id="leave", compact=True)
        yield Keys()

    def on_input_submitted(self) -> None:
        self._set()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "set":
            self._set()
        else:
            self.dismiss(None)

    def _set(self) -> None:
        minutes, runs = (self.query_one(f"#{name}", Input).value for name in ("minutes", "runs"))
        self.dismiss(f"/budget {minutes} {runs}")


class DeleteScreen(Dialog[str]):
    """Gives the line that deletes it, or an empty one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", "Keep")]
    FOCUSED = "#keep"
    HELP_WORDS = "Escape keeps the run. Tab and Enter press a button; letters do nothing."
    CSS = """
    DeleteScreen { align: center middle; }
    DeleteScreen > VerticalGroup { width: 90%; max-width: 90; border: thick $error; background: $surface; }
    DeleteScreen Static { padding: 0 1; }
    DeleteScreen Button { margin: 0 1 0 0; min-width: 8; height: 1; border: none; }
    """

    def __init__(self, one: ListedRun) -> None:
        super().__init__()
        self._one = one

    def compose(self) -> ComposeResult:
        one = self._one
        made = f" of {one.minute}" if one.when else ""
        lines = [
            f"Delete the run{made}?",
            f"  {one.command or 'unknown command'}: {one.verdict}",
            f"  {one.folder}, {size(Path(one.folder)) / 1e6:.1f} MB",
            "It cannot be had back.",
        ]
        with VerticalGroup():
            yield Static(Text("\n".join(map(printable, lines))))
            with HorizontalGroup():
                yield Button("Keep it", id="keep")
                yield Button("Delete it", id="delete", variant="error")
        yield Keys()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(f"/delete {quote(self._one.folder)} yes" if event.button.id == "delete" else "")


HINT = "Letters answer nothing: type a number and Enter, or go to a button with Tab and press Enter."
HELP = (
    "An answer is its number and Enter, or its button (Tab, then Enter). All else that is typed is a question: what "
    "does it change? why? is it safe? how is it put back? A line that begins with / is a command. `4 because others "
    "use it` says why. Escape is not now: nothing is changed and the run waits; F7 shows the question again."
)


class ApprovalInput(Input):
    """The line; Tab leaves it only where it is empty, so that no word that is being typed ends on a button."""

    async def on_key(self, event: events.Key) -> None:
        if event.key in ("tab", "shift+tab") and self.value:
            event.stop()
            event.prevent_default()


class Approve(Dialog[dict[str, str]]):
    """Gives what `ChatSession.answer` takes; None: not now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "not_now", "Not now"),
        Binding("f5", "say('/pause')", "Pause"),
        Binding("f8", "say('/stop')", "Stop"),
        Binding("up,pageup", "turn(-1)", "Read", key_display="↑↓"),
        Binding("down,pagedown", "turn(1)", "Read on", show=False),
    ]
    FOCUSED = "#line"  # whatever is typed next is a line, and no answer
    CSS = """
    Approve { align: center middle; }
    Approve > Vertical { width: 90%; max-width: 100; height: auto; max-height: 90%;
        border: thick $warning; background: $surface; padding: 0 1; }
    Approve #text { height: auto; scrollbar-size-vertical: 1; }
    Approve #answers { height: auto; }
    Approve Button { width: 100%; text-align: left; content-align: left middle; }
    Approve .said { color: $text-accent; }
    """

    def __init__(self, session: ChatSession, question: Mapping[str, Any]) -> None:
        super().__init__()
        self._session, self._question = session, question

    def compose(self) -> ComposeResult:
        """Say it all, then ask; the answers stay where a long text scrolls."""
        with Vertical():
            with VerticalScroll(can_focus=False, id="text"):
                yield Static(_text(self._words()), id="words")
            with Vertical(id="answers"):
                yield ApprovalInput(placeholder="ask about it, or a number and enter", id="line", compact=True)
                for number, one in enumerate(answers_to(self._question), 1):
                    yield Button(f"{number} {one.label}", id=one.key, compact=True)
        yield Keys()

    def _words(self) -> list[str]:
        sources = [f"  source: {one}" for one in self._question.get("sources", ())]
        return [*asked({**self._question, "later": LATER}), *sources]

    def on_resize(self) -> None:
        answers = len(answers_to(self._question)) + 1
        self.query_one("#text").styles.max_height = max(2, self.size.height * 9 // 10 - answers - 4)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss({"answer": str(event.button.id), "reason": ""})

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take a number as an answer, a command as a command, words as a question; an empty line as nothing."""
        event.stop()
        line = event.value.strip()
        event.input.clear()
        if given := numbered(line, self._question):
            self.dismiss(given)
        elif line:
            self._say([f"> {line}"])
            self._reply(line)

    def action_say(self, line: str) -> None:
        self._reply("/resume" if line == "/pause" and self._session.state.paused else line)

    def action_help(self) -> None:
        self._say([HELP])

    def action_not_now(self) -> None:
        self.notify("Nothing is changed, and the run waits: F7 or /answer shows the question again.", markup=False)
        self.dismiss(None)

    def action_turn(self, pages: int) -> None:
        text = self.query_one("#text", VerticalScroll)
        text.scroll_relative(y=pages * max(1, text.size.height - 1), animate=False)

    @work(thread=True)
    def _reply(self, line: str) -> None:
        try:
            lines, leaves = self._answered(line)
        except VgoError as error:
            lines, leaves = [str(error)], False
        self.app.call_from_thread(self._replied, lines, leaves)

    def _answered(self, line: str) -> tuple[list[str], bool]:
        """Answer in lines, and tell whether the user leaves."""
        if not line.startswith("/"):
            told = [] if typed(line, self._question) else self._session.about(self._question, line)
            return [*told, HINT], False
        reply = do(self._session, line)
        closed = [f"{line} opens another screen: Escape first."] if reply.opens not in ("", "quit") else []
        return [*unmarked(reply.text), *closed], reply.opens == "quit"

    def _replied(self, lines: list[str], leaves: bool) -> None:
        if leaves:
            self.app.call_later(self.app.action_quit)
        elif self.is_attached:
            self._say(lines)

    def _say(self, lines: list[str]) -> None:
        text = self.query_one("#text", VerticalScroll)
        text.mount(Static(_text(lines), classes="said"))
        text.scroll_end(animate=False)


def _text(lines: list[str]) -> Text:
    return Text("\n".join(map(printable, lines)))
