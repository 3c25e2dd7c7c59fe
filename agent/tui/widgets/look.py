"""The tabs beside the chat: each shows the view in one way."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import TabbedContent, TabPane

from ...session_view.view import SessionView


class Shows(Protocol):
    """What a tab holds."""

    def show(self, view: SessionView) -> None:
        """Draw what the view says; called only where it changed and the tab is in front."""


class Tab(NamedTuple):
    """One tab; its module is imported when it is first looked at."""

    key: str
    title: str
    place: str
    """`module:Class` in this folder."""


TABS = (Tab("steps", "Steps", "steps:Steps"),)


class Look(Vertical):
    """All tabs; only the one in front is drawn."""

    DEFAULT_CSS = """
    Look { height: 1fr; }
    Look TabPane { padding: 0; }
    """

    def __init__(self, **more: object) -> None:
        """Show nothing yet."""
        super().__init__(**more)  # type: ignore[arg-type]
        self._view = SessionView()
        self._shown: dict[str, SessionView] = {}

    def compose(self) -> ComposeResult:
        """Lay out empty tabs."""
        with TabbedContent(id="tabs"):
            for tab in TABS:
                yield TabPane(tab.title, id=tab.key)

    def show(self, view: SessionView) -> None:
        """Keep the view, and draw the tab in front."""
        self._view = view
        self._draw()

    def on_tabbed_content_tab_activated(self) -> None:
        """Draw the tab that came to the front."""
        self._draw()

    def _draw(self) -> None:
        tabs = self.query_one(TabbedContent)
        pane = tabs.active_pane
        if pane is None or self._shown.get(str(pane.id)) is self._view:
            return
        self._shown[str(pane.id)] = self._view
        if not pane.children:
            pane.mount(self._made(str(pane.id)))
        content: Shows = pane.children[0]  # type: ignore[assignment]
        self.call_after_refresh(content.show, self._view)

    def _made(self, key: str) -> Widget:
        module, _, name = next(tab.place for tab in TABS if tab.key == key).partition(":")
        widget: Widget = getattr(import_module(f"{__package__}.{module}"), name)()
        return widget
