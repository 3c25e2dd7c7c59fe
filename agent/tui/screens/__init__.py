"""One file a screen; those that a reply can open are listed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import SessionScreen


def _budget(screen: SessionScreen) -> None:
    from .budget import Budget

    def given(line: str | None) -> None:
        if line:
            screen.action_say(line)

    screen.app.push_screen(Budget(screen.session.view), given)


def _report(screen: SessionScreen) -> None:
    from .report import ReportScreen

    if screen.session.folder is not None:
        screen.app.push_screen(ReportScreen(screen.session.folder))


OPENED: dict[str, Callable[[SessionScreen], None]] = {"budget": _budget, "report": _report}
