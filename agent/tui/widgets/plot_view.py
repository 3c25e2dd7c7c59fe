"""A plot as a widget: keys and mouse zoom, pan and read values."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from ...look.scale import AxisWindow
from .picture_view import PictureView

ZOOM, PAN = 1.5, 0.2
"""Factor, and share of the window, of one key press."""


class PlotView(PictureView):
    """A picture with an axis, which goes as far as `span` says."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "zoom(1)", "Zoom", key_display="+-"),
        Binding("minus", "zoom(-1)", "Zoom out", show=False),
        Binding("0", "whole", "All"),
        Binding("shift+left,less_than_sign", "pan(-1)", "Pan", key_display="⇧←→"),
        Binding("shift+right,greater_than_sign", "pan(1)", "Pan right", show=False),
        Binding("left", "move(-1)", "Read", key_display="←→"),
        Binding("right", "move(1)", "Read right", show=False),
        Binding("ctrl+left", "move(-10)", "Far left", show=False),
        Binding("ctrl+right", "move(10)", "Far right", show=False),
    ]

    window: AxisWindow | None = None
    """None shows everything."""
    cursor: float | None = None

    @property
    def span(self) -> AxisWindow | None:
        """How far the axis goes; None where there is nothing to show."""
        raise NotImplementedError

    def value_at(self, column: int) -> float | None:
        """What lies under a column of this widget; None beside the plot."""
        return self._current().x_at(column)

    @property
    def step(self) -> float:
        """What one cell spans; 0 without a plot. What waits to be drawn is drawn: keys act on what there is."""
        if self._soon is not None:
            self.redraw()
        framed = self._current().framed
        return framed.x.step if framed else 0.0

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Read what lies under the mouse."""
        value = self.value_at(event.x)
        if value is not None and value != self.cursor:
            self.cursor = value
            self.redraw()

    def on_leave(self) -> None:
        """The mouse has gone, and with it what it read."""
        if self.cursor is not None:
            self.cursor = None
            self.redraw()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in."""
        event.stop()
        self.action_zoom(1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out."""
        event.stop()
        self.action_zoom(-1)

    def action_zoom(self, direction: int) -> None:
        """Show less, or more, about the cursor."""
        if (shown := self.window or self.span) is not None:
            about = self.cursor if self.cursor is not None else (shown.low + shown.high) / 2
            self.window = shown.zoomed(ZOOM if direction > 0 else 1 / ZOOM, about)
            self.redraw()

    def action_whole(self) -> None:
        """Show everything again."""
        self.window = None
        self.redraw()

    def action_pan(self, direction: int) -> None:
        """Move to one side."""
        if (shown := self.window or self.span) is not None:
            self.window = shown.panned(PAN * direction)
            self.redraw()

    def action_move(self, cells: int) -> None:
        """Move the cursor; it begins in the middle."""
        if (shown := self.window or self.span) is None or not self.step:
            return
        here = (shown.low + shown.high) / 2 if self.cursor is None else self.cursor
        self.cursor = here + cells * self.step
        self.window = self.window and self.window.holding(self.cursor)
        if self.window is None:
            self.cursor = min(max(self.cursor, shown.low), shown.high)
        self.redraw()
