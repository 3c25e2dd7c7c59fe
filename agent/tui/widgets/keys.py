"""The keys that work now, in as many lines as they take: none is cut off on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.containers import HorizontalGroup
from textual.widgets import Footer
from textual.widgets._footer import FooterKey


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
