"""The cores of this machine, read once a second while somebody looks."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from ...look.canvas import TextCanvas
from ...look.cores import CoreRates, CoresSnapshot, rates, read_cores
from ...look.cores_page import cores_page
from ...look.frame import Picture
from .picture_view import PictureView

READ_EVERY_S = 1.0


class CoresView(PictureView):
    """One line a core; it costs nothing while it is hidden."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_cores(-1)", "Cores", key_display="↑↓"),
        Binding("down", "scroll_cores(1)", "Down", show=False),
    ]

    _before: CoresSnapshot | None = None
    _rates: tuple[CoreRates, ...] = ()
    _first = 0
    _reading: Timer | None = None

    def on_mount(self) -> None:
        """Make the timer; it runs while this is shown."""
        self._reading = self.set_interval(READ_EVERY_S, self.read, pause=not self.display)

    def on_show(self) -> None:
        """Begin to read."""
        if self._reading is not None:
            self._reading.resume()

    def on_hide(self) -> None:
        """Stop reading; a rate over the time between would say nothing."""
        self._before = None
        if self._reading is not None:
            self._reading.pause()

    async def read(self) -> None:
        """Read the counters, beside the interface."""
        now = await asyncio.to_thread(read_cores, time.monotonic())
        if self._before is not None:
            self.show_rates(rates(self._before, now))
        self._before = now

    def show_rates(self, found: tuple[CoreRates, ...]) -> None:
        """Show what the cores did."""
        self._rates = found
        self.redraw()

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw the lines."""
        cores_page(canvas, self._rates, self._first, known=self._before is None or bool(self._before.cores))
        return Picture(canvas)

    def action_scroll_cores(self, lines: int) -> None:
        """Go to other cores."""
        self._first = min(max(self._first + lines, 0), max(len(self._rates) - 1, 0))
        self.redraw()
