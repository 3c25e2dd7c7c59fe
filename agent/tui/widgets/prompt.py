"""The line that the user types, with the commands that it may become."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from ...chat.words import COMMANDS, LONGEST, completed
from ..messages import LineSubmitted

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
