"""Two lines at the top: what is diagnosed and how far it is, and what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.timer import Timer
from textual.widgets import Static

from ...chat.status import lines_of
from ...terminal import printable

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
        """Draw it."""
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
