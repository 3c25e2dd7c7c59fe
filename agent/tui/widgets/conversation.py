"""The conversation: what was said, and the steps as cards, in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Markdown, Static

from ...chat.talk import Exchange
from ...session_view.view import SessionView
from ...terminal import printable
from ..messages import SourceAsked
from .card import Card


class Conversation(VerticalScroll):
    """Grows at its end; `clear` begins anew."""

    DEFAULT_CSS = """
    Conversation { height: 1fr; padding: 0 1; }
    Conversation .said { margin: 1 0 0 0; text-style: bold; }
    Conversation .note { color: $text-muted; margin: 1 0 0 0; }
    Conversation .failed { color: $text-error; margin: 0 0 0 2; }
    Conversation Markdown { margin: 0 0 0 2; padding: 0; background: $background; }
    """

    def __init__(self, fancy: bool = True, **more: object) -> None:
        """Begin empty."""
        super().__init__(**more)  # type: ignore[arg-type]
        self._fancy = fancy
        self._cards: dict[str, Card] = {}
        self._shown = 0

    def on_mount(self) -> None:
        """Keep the end in view."""
        self.anchor()

    def clear(self) -> None:
        """Begin anew."""
        self._cards.clear()
        self._shown = 0
        self.remove_children()

    def note(self, text: str) -> None:
        """Say something that nobody asked for."""
        self.mount(Static(Text(printable(text)), classes="note"))

    def show(self, view: SessionView, talk: Sequence[Exchange], progress: str) -> None:
        """Add what is new, and bring the cards up to date."""
        for step in view.steps:
            if step.call_id in self._cards:
                self._cards[step.call_id].show(step, progress if step is view.current else "")
                continue
            self._say_until(talk, step.begun)
            card = self._cards[step.call_id] = Card(step, self._fancy)
            self.mount(card)
        self._say_until(talk, view.events + 1)

    def _say_until(self, talk: Sequence[Exchange], event: int) -> None:
        while self._shown < len(talk) and talk[self._shown].after <= event:
            self._say(talk[self._shown])
            self._shown += 1

    def _say(self, exchange: Exchange) -> None:
        if exchange.line:
            self.mount(Static(Text(f"> {printable(exchange.line)}"), classes="said"))
        reply = exchange.reply
        if reply.failed:
            mark = "✗" if self._fancy else "no:"
            self.mount(Static(Text(f"{mark} {printable(reply.text)}"), classes="failed"))
        elif reply.text:
            self.mount(Markdown(reply.text, open_links=False))
        if reply.next:
            self.mount(Static(Text("\n".join(("next:", *map(printable, reply.next)))), classes="note"))

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Open a reference."""
        event.stop()
        if event.href.startswith("source:"):
            self.post_message(SourceAsked(event.href.removeprefix("source:")))
