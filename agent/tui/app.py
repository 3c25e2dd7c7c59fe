"""The app: one session, and the screens around it."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme

if TYPE_CHECKING:
    from ..chat.session import ChatSession

CONTRAST = Theme(
    name="high-contrast",
    primary="#ffff00",
    secondary="#00ffff",
    accent="#ffff00",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    success="#00ff00",
    warning="#ffff00",
    error="#ff8080",
    dark=True,
)
THEMES = {"dark": "textual-dark", "light": "textual-light", "high-contrast": CONTRAST.name}


class ChatApp(App[None]):
    """Talk, look, decide."""

    TITLE = "vgo-agent chat"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1", "help", "Help"), Binding("ctrl+q", "quit", "Leave")]

    def __init__(self, session: ChatSession, theme: str = "dark", first: str = "") -> None:
        super().__init__()
        self.session = session
        self._named = THEMES[theme]
        self._first = first

    def on_mount(self) -> None:
        gc.disable()  # a collection in the midst of imports stops the screen for longer than a key press may take
        self.register_theme(CONTRAST)
        self.theme = self._named
        from .screens import OPENED
        from .screens.session import SessionScreen

        screen = SessionScreen(self.session, OPENED)
        self.push_screen(screen)
        if self._first:
            screen.call_after_refresh(screen.action_say, self._first)
        self.set_timer(5.0, self._collect_again)

    def _collect_again(self) -> None:
        gc.freeze()
        gc.enable()

    async def action_quit(self) -> None:
        """Leave; where the run was told to stop, once its settings are put back."""
        if not self.session.stopping:
            self.exit()
            return
        self.notify("The screen closes when every setting is put back.")
        self.set_interval(0.1, self._leave_when_stopped)

    def _leave_when_stopped(self) -> None:
        if not self.session.stopping:
            self.exit()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """List the commands of the chat in the palette, before those of the app."""
        from ..chat.words import COMMANDS
        from .screens.session import SessionScreen

        if isinstance(screen, SessionScreen):
            for command in COMMANDS.values():
                if command.usage == f"/{command.name}" or "[" in command.usage:
                    say = partial(screen.action_say, f"/{command.name}")
                    yield SystemCommand(command.usage, command.words, say)
        yield from super().get_system_commands(screen)

    def action_help(self) -> None:
        from .screens.session import SessionScreen

        if isinstance(self.screen, SessionScreen):
            self.screen.action_say("/help")
