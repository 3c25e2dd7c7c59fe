"""A picture of characters as a widget; only what changed is drawn again."""

from __future__ import annotations

import time
from typing import ClassVar, get_args

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from ...look.canvas import Ink, TextCanvas
from ...look.frame import Picture
from ...look.scale import AxisWindow

EVERY_S = 0.25
"""Between two drawings because of new runs; keys are answered at once."""


class PictureView(Widget, can_focus=True):
    """What all pictures have in common; each says how it is drawn."""

    DEFAULT_CSS = """
    PictureView { width: 1fr; height: 1fr; }
    PictureView > .look--plain { color: $foreground; }
    PictureView > .look--faint { color: $foreground 70%; }
    PictureView > .look--fast { color: $text-primary; }
    PictureView > .look--slow { color: $text-error; }
    PictureView > .look--curve { color: $foreground; }
    PictureView > .look--cut { color: $text-warning; text-style: bold; }
    PictureView > .look--cursor { color: $text-accent; text-style: bold; }
    PictureView > .look--baseline { color: $foreground 60%; }
    PictureView > .look--mitigated { color: $text-success; text-style: bold; }
    PictureView > .look--curve-on-fast { color: $background; background: $text-primary; text-style: bold; }
    PictureView > .look--curve-on-slow { color: $foreground; background: $text-error 45%; text-style: bold; }
    PictureView > .look--mitigated-on-baseline { color: $text-success; background: $foreground 15%; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"look--{ink}" for ink in get_args(Ink)}

    _picture: Picture | None = None
    _drawn_s = 0.0
    _soon: Timer | None = None

    def __init__(self, *, fancy: bool = True) -> None:
        """`fancy`: the terminal can show more than ASCII."""
        super().__init__()
        self.fancy = fancy

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw what is to be seen now."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What is shown, a line a row, without colours."""
        return self._current().canvas.text()

    def changed(self) -> None:
        """There is something new to show: draw it, a few times a second at most."""
        wait = self._drawn_s + EVERY_S - time.monotonic()
        if wait <= 0:
            self.redraw()
        elif self._soon is None:
            self._soon = self.set_timer(wait, self.redraw)

    def redraw(self) -> None:
        """Draw now; only cells that differ are sent."""
        if self._soon is not None:
            self._soon.stop()
            self._soon = None
        before = self._picture
        self._picture = None
        if before is None or (before.canvas.width, before.canvas.height) != tuple(self.size):
            self.refresh()
            return
        spans = self._current().canvas.changed(before.canvas)
        if spans:
            self.refresh(*(Region(span.first, span.row, span.last - span.first + 1, 1) for span in spans))

    def render_line(self, y: int) -> Strip:
        canvas = self._current().canvas
        if y >= canvas.height:
            return Strip.blank(self.size.width, self.rich_style)
        styles = {ink: self.get_component_rich_style(f"look--{ink}") for _, ink in canvas.runs(y)}
        return Strip([Segment(text, styles[ink]) for text, ink in canvas.runs(y)], canvas.width)

    def on_resize(self) -> None:
        self.redraw()

    def notify_style_update(self) -> None:
        """Draw all in the colours of another theme."""
        super().notify_style_update()
        self.refresh()

    def _current(self) -> Picture:
        width, height = self.size
        canvas = self._picture.canvas if self._picture else None
        if canvas is None or (canvas.width, canvas.height) != (width, height):
            self._picture = self.picture(TextCanvas(width, height, self.fancy))
            self._drawn_s = time.monotonic()
        assert self._picture is not None  # drawn above
        return self._picture


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
        value = self.value_at(event.x)
        if value is not None and value != self.cursor:
            self.cursor = value
            self.redraw()

    def on_leave(self) -> None:
        if self.cursor is not None:
            self.cursor = None
            self.redraw()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_zoom(1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_zoom(-1)

    def action_zoom(self, direction: int) -> None:
        if (shown := self.window or self.span) is not None:
            about = self.cursor if self.cursor is not None else (shown.low + shown.high) / 2
            self.window = shown.zoomed(ZOOM if direction > 0 else 1 / ZOOM, about)
            self.redraw()

    def action_whole(self) -> None:
        self.window = None
        self.redraw()

    def action_pan(self, direction: int) -> None:
        if (shown := self.window or self.span) is not None:
            self.window = shown.panned(PAN * direction)
            self.redraw()

    def action_move(self, cells: int) -> None:
        if (shown := self.window or self.span) is None or not self.step:
            return
        here = (shown.low + shown.high) / 2 if self.cursor is None else self.cursor
        self.cursor = here + cells * self.step
        self.window = self.window and self.window.holding(self.cursor)
        if self.window is None:
            self.cursor = min(max(self.cursor, shown.low), shown.high)
        self.redraw()
