"""The rim of the screen: what is diagnosed and how far it is above, the line that is typed and the keys below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import HorizontalGroup, Vertical
from textual.suggester import SuggestFromList
from textual.timer import Timer
from textual.widgets import Footer, Input, Static
from textual.widgets._footer import FooterKey

from ...chat.status import lines_of
from ...chat.words import COMMANDS, LONGEST, completed
from ...terminal import printable
from ..messages import LineSubmitted

if TYPE_CHECKING:
    from ...chat.session import ChatSession

TURN_EVERY_S = 0.2
TURNS = "|/-\\"


class Header(Static):
    """Never more than it has room for."""

    DEFAULT_CSS = """
    Header { height: auto; max-height: 4; background: $panel; padding: 0 1; dock: top; }
    """

    def on_mount(self) -> None:
        self._at = 0
        self._timer: Timer = self.set_interval(TURN_EVERY_S, self._turn, pause=True)

    def show(self, session: ChatSession, busy: bool) -> None:
        self._lines, self._failure, self._busy = lines_of(session), session.failure, busy
        if busy:
            self._timer.resume()
        else:
            self._timer.pause()
        self._draw()

    def _turn(self) -> None:
        self._at += 1
        self._draw()

    def _draw(self) -> None:
        title, status = self._lines
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(printable(title), style="bold")
        turning = f"{TURNS[self._at % len(TURNS)]} " if self._busy else ""
        text.append(f"\n{turning}{printable(status)}")
        if self._failure:
            text.append(f"\n{printable(self._failure)}", style="bold reverse")
        self.update(text)


class Keys(Footer):
    """The footer of Textual, which has one line of whatever width, with its keys put in lines."""

    DEFAULT_CSS = """
    Keys { layout: vertical; height: auto; max-height: 4; }
    Keys HorizontalGroup { height: 1; }
    """

    _wide = 0

    def __init__(self) -> None:
        super().__init__(compact=True)

    def compose(self) -> ComposeResult:
        if not self._bindings_ready:
            return
        self._wide = self.app.size.width
        line: list[FooterKey] = []
        used = 0
        for key in self._keys():
            width = len(key.key_display) + len(key.description) + 2
            if line and used + width > self._wide:
                yield HorizontalGroup(*line)
                line, used = [], 0
            line.append(key)
            used += width
        if line:
            yield HorizontalGroup(*line)

    def _keys(self) -> Iterator[FooterKey]:
        """Give one key an action, in the order in which they are looked for: of the focus, the screen, the app."""
        shown: dict[str, FooterKey] = {}
        for _, binding, enabled, tooltip in self.screen.active_bindings.values():
            if binding.show or binding.key == self.app.COMMAND_PALETTE_BINDING:
                display = self.app.get_key_display(binding)
                key = FooterKey(
                    binding.key, display, binding.description, binding.action, disabled=not enabled, tooltip=tooltip
                )
                shown.setdefault(binding.action, key.data_bind(compact=Footer.compact))
        return iter(shown.values())

    async def on_resize(self, event: events.Resize) -> None:
        """Put them in other lines where the screen has another width."""
        if self._wide != self.app.size.width:
            await self.recompose()


MOST_SHOWN = 6


class PromptInput(Input):
    """One line; a text that is pasted becomes one, and no longer than is read."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        room = LONGEST - len(self.value)
        words = " ".join(event.text[: 4 * LONGEST].split())
        self.insert_text_at_cursor(words[:room])
        if len(event.text) > room:
            self.app.notify(f"Only the first {LONGEST} characters are read.", severity="warning")


class Prompt(Vertical):
    """An input; above it, while a command is typed, what it may become."""

    DEFAULT_CSS = """
    Prompt { height: auto; background: $surface; }
    Prompt PromptInput { padding: 0 1; }
    Prompt #hints { height: auto; color: $text-muted; padding: 0 2; display: none; }
    Prompt #hints.-some { display: block; }
    """

    def compose(self) -> ComposeResult:
        yield Static("", id="hints", markup=False)
        names = [f"/{name}" for name in COMMANDS]
        yield PromptInput(
            placeholder="ask, or / for commands",
            suggester=SuggestFromList(names, case_sensitive=False),
            max_length=LONGEST,
            compact=True,
            id="line",
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        found = completed(event.value)[:MOST_SHOWN]
        hints = self.query_one("#hints", Static)
        hints.update("\n".join(f"{one.usage:<22} {one.words}" for one in found))
        hints.set_class(bool(found), "-some")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        line = event.value.strip()
        event.input.clear()
        if line:
            self.post_message(LineSubmitted(line))

    def on_key(self, event: events.Key) -> None:
        line = self.query_one(PromptInput)
        found = completed(line.value)
        if event.key == "tab" and found:
            line.value = f"/{found[0].name} "
            line.cursor_position = len(line.value)
            event.stop()
            event.prevent_default()
