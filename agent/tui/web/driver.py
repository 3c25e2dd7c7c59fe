"""The app's end of an open page: Textual's own, but for the focus.

A page tells when it has lost the focus, and Textual then draws no footer; it begins without the focus too. Here the app
always has it, so that a page in the background, or one that was not clicked yet, shows all there is.
"""

from __future__ import annotations

from textual import events
from textual.drivers.web_driver import WebDriver


class FocusedDriver(WebDriver):
    """Draws to a page."""

    def start_application_mode(self) -> None:
        """Begin; the second `call_later` comes after the loss of focus that the first round posts."""
        super().start_application_mode()
        self._app.call_later(self._app.call_later, self._app.post_message, events.AppFocus())

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        if packet_type != "blur":
            super().on_meta(packet_type, payload)
