"""One file a screen; those that a reply can open are listed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...history import listed
from .dialogs import BudgetDialog, DeleteScreen, Dialog

if TYPE_CHECKING:
    from ...chat.words import ChatReply
    from .session import SessionScreen


def _report(screen: SessionScreen, reply: ChatReply) -> None:
    from .recorded import ReportScreen

    if screen.session.folder is not None:
        screen.app.push_screen(ReportScreen(screen.session.folder))


def _runs(screen: SessionScreen, reply: ChatReply) -> None:
    from .start import StartScreen

    _say_given(screen, StartScreen(screen.session))


def _recorded(screen: SessionScreen, reply: ChatReply) -> None:
    from .recorded import RecordedScreen

    screen.app.push_screen(RecordedScreen(screen.session, reply.about[1:], reply.about[0]))


def _copy(screen: SessionScreen, reply: ChatReply) -> None:
    """Hand it to the terminal (OSC 52), which may refuse; it stands in the chat as well."""
    screen.app.copy_to_clipboard(reply.about[0])
    screen.app.notify("Handed to the clipboard of your terminal; where it takes none, copy it from the chat.")


def _say_given(screen: SessionScreen, dialog: Dialog[str]) -> None:
    screen.app.push_screen(dialog, lambda line: screen.action_say(line) if line else None)


OPENED: dict[str, Callable[[SessionScreen, ChatReply], None]] = {
    "budget": lambda screen, _: _say_given(screen, BudgetDialog(screen.session.view)),
    "question": lambda screen, _: screen.show_question(),
    "report": _report,
    "runs": _runs,
    "run": lambda screen, _: screen.rebuild(),
    "files": lambda screen, _: screen.show_files(),
    "recorded": _recorded,
    "delete": lambda screen, reply: _say_given(screen, DeleteScreen(listed(Path(reply.about[0])))),
    "copy": _copy,
    "screenshot": lambda screen, reply: screen.save_picture(reply.about[0]),
}
