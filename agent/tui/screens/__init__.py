"""One file a screen; those that a reply can open are listed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...chat.reply import ChatReply
    from .session import SessionScreen


def _budget(screen: SessionScreen, reply: ChatReply) -> None:
    from .budget import BudgetDialog

    def given(line: str | None) -> None:
        if line:
            screen.action_say(line)

    screen.app.push_screen(BudgetDialog(screen.session.view), given)


def _question(screen: SessionScreen, reply: ChatReply) -> None:
    screen.show_question()


def _report(screen: SessionScreen, reply: ChatReply) -> None:
    from .report import ReportScreen

    if screen.session.folder is not None:
        screen.app.push_screen(ReportScreen(screen.session.folder))


def _runs(screen: SessionScreen, reply: ChatReply) -> None:
    from .start import StartScreen

    def chosen(line: str | None) -> None:
        if line:
            screen.action_say(line)

    screen.app.push_screen(StartScreen(screen.session), chosen)


def _run(screen: SessionScreen, reply: ChatReply) -> None:
    screen.rebuild()


def _files(screen: SessionScreen, reply: ChatReply) -> None:
    screen.show_files()


def _recorded(screen: SessionScreen, reply: ChatReply) -> None:
    from .recorded import RecordedScreen

    screen.app.push_screen(RecordedScreen(screen.session, reply.about[1:], reply.about[0]))


def _delete(screen: SessionScreen, reply: ChatReply) -> None:
    from ...history import listed
    from ...past.listing import described
    from .delete import DeleteScreen

    def sure(line: str | None) -> None:
        if line:
            screen.action_say(line)

    screen.app.push_screen(DeleteScreen(described(listed(Path(reply.about[0])))), sure)


def _copy(screen: SessionScreen, reply: ChatReply) -> None:
    """Hand it to the terminal (OSC 52), which may refuse; it stands in the chat as well."""
    screen.app.copy_to_clipboard(reply.about[0])
    screen.app.notify("Handed to the clipboard of your terminal; where it takes none, copy it from the chat.")


def _screenshot(screen: SessionScreen, reply: ChatReply) -> None:
    screen.save_picture(reply.about[0])


OPENED: dict[str, Callable[[SessionScreen, ChatReply], None]] = {
    "budget": _budget,
    "question": _question,
    "report": _report,
    "runs": _runs,
    "run": _run,
    "files": _files,
    "recorded": _recorded,
    "delete": _delete,
    "copy": _copy,
    "screenshot": _screenshot,
}
