"""A figure of characters as a widget, with keys that zoom and read it; only what changed is drawn again."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar, get_args

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from ...look.canvas import AxisWindow, Ink, TextCanvas
from ...look.distribution import Histogram
from ...look.plot import Picture, Sentence, TextFigure
from ...look.timeline import CoreRates, CoresSnapshot, cores_pages, rates, read_cores
from ..messages import CutKept, CutMoved, FigureChosen

EVERY_S = 0.25
"""Between two drawings because of new runs; keys are answered at once."""
ZOOM, PAN = 1.5, 0.2
"""Factor, and share of the window, of one key press."""
READ_EVERY_S = 1.0
"""Between two looks at the cores."""
ACTIONS = ("choose", "ask", "zoom", "whole", "pan", "move")
"""Of figures, each where it does something."""


class FigureView(Widget, can_focus=True):
    """One of several figures: up and down choose another; one with an axis is zoomed and read."""

    DEFAULT_CSS = """
    FigureView { width: 1fr; height: 1fr; }
    FigureView > .look--plain { color: $foreground; }
    FigureView > .look--faint { color: $foreground 70%; }
    FigureView > .look--fast { color: $text-primary; }
    FigureView > .look--slow { color: $text-error; }
    FigureView > .look--curve { color: $foreground; }
    FigureView > .look--cut { color: $text-warning; text-style: bold; }
    FigureView > .look--cursor { color: $text-accent; text-style: bold; }
    FigureView > .look--baseline { color: $foreground 60%; }
    FigureView > .look--mitigated { color: $text-success; text-style: bold; }
    FigureView > .look--curve-on-fast { color: $background; background: $text-primary; text-style: bold; }
    FigureView > .look--curve-on-slow { color: $foreground; background: $text-error 45%; text-style: bold; }
    FigureView > .look--mitigated-on-baseline { color: $text-success; background: $foreground 15%; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"look--{ink}" for ink in get_args(Ink)}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "zoom(1)", "Zoom", key_display="+-"),
        Binding("minus", "zoom(-1)", "Zoom out", show=False),
        Binding("0", "whole", "All"),
        Binding("shift+left,less_than_sign", "pan(-1)", "Pan", key_display="⇧←→"),
        Binding("shift+right,greater_than_sign", "pan(1)", "Pan right", show=False),
        Binding("left,comma", "move(-1)", "Read", key_display="←→"),
        Binding("right,full_stop", "move(1)", "Read right", show=False),
        Binding("ctrl+left", "move(-10)", "Far left", show=False),
        Binding("ctrl+right", "move(10)", "Far right", show=False),
        Binding("up", "choose(-1)", "Other", key_display="↑↓"),
        Binding("down", "choose(1)", "Next", show=False),
        Binding("enter", "ask", "Show column"),
    ]

    window: AxisWindow | None = None
    """None shows everything."""
    cursor: float | None = None
    _figures: tuple[TextFigure, ...] = (Sentence(""),)
    _name = ""
    """Of the figure that the user has chosen; empty, or one that is not there: the first is shown."""
    _picture: Picture | None = None
    _drawn_s = 0.0
    _soon: Timer | None = None

    def __init__(self, *, fancy: bool = True, id: str | None = None) -> None:
        """`fancy`: the terminal can show more than ASCII."""
        super().__init__(id=id)
        self.fancy = fancy

    @property
    def figure(self) -> TextFigure:
        names = [one.name for one in self._figures]
        return self._figures[names.index(self._name) if self._name in names else 0]

    @property
    def text(self) -> str:
        """What is shown, a line a row, without colours."""
        return self._current().canvas.text()

    def show(self, *figures: TextFigure) -> None:
        """Show the first of these, or the one that the user has chosen; soon, a few times a second at most."""
        keys = self._keys()
        self._figures = figures
        if keys != self._keys():
            self.refresh_bindings()
        wait = self._drawn_s + EVERY_S - time.monotonic()
        if wait <= 0:
            self.redraw()
        elif self._soon is None:
            self._soon = self.set_timer(wait, self.redraw)

    def choose(self, name: str) -> None:
        """Show the figure of that name, all of it, as soon as there is one."""
        self._name, self.window, self.cursor = name, None, None
        self.redraw()
        self.post_message(FigureChosen(self.figure))

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
            self._picture = self.figure.draw(TextCanvas(width, height, self.fancy), self.window, self.cursor)
            self._drawn_s = time.monotonic()
        assert self._picture is not None  # drawn above
        return self._picture

    def _keys(self) -> frozenset[str]:
        """Actions of which the figures that are shown know."""
        figure = self.figure
        known = {"choose": len(self._figures) > 1, "ask": figure.asks}
        known |= dict.fromkeys(("zoom", "whole", "pan", "move"), figure.span is not None)
        return frozenset(action for action, does in known.items() if does)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only keys that do something."""
        return action in self._keys() if action in ACTIONS else super().check_action(action, parameters)

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

    @property
    def shown(self) -> AxisWindow | None:
        return self.window or self.figure.span

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
        self._scroll(1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(-1)

    def _scroll(self, up: int) -> None:
        """Zoom a plot; go through lines."""
        if self.figure.span is None:
            self.action_choose(-up)
        else:
            self.action_zoom(up)

    def action_choose(self, step: int) -> None:
        """Choose a figure: after the last plot comes the first, and lines have ends."""
        place, last = self._figures.index(self.figure) + step, len(self._figures) - 1
        place = min(max(place, 0), last) if self.figure.span is None else place % (last + 1)
        self.choose(self._figures[place].name)

    def action_ask(self) -> None:
        self.post_message(FigureChosen(self.figure, asked=True))

    def action_zoom(self, direction: int) -> None:
        if (shown := self.shown) is not None:
            about = self.cursor if self.cursor is not None else (shown.low + shown.high) / 2
            self.window = shown.zoomed(ZOOM if direction > 0 else 1 / ZOOM, about)
            self.redraw()

    def action_whole(self) -> None:
        self.window = None
        self.redraw()

    def action_pan(self, direction: int) -> None:
        if (shown := self.shown) is not None:
            self.window = shown.panned(PAN * direction)
            self.redraw()

    def action_move(self, cells: int) -> None:
        if (value := self.moved(self.cursor, cells)) is not None:
            self.cursor = value
            self.redraw()

    def moved(self, value: float | None, cells: int) -> float | None:
        """Value so many cells further, from the middle where it is None; the window goes with it, or it has ends."""
        shown = self.shown
        if shown is None or not self.step:
            return None
        further = ((shown.low + shown.high) / 2 if value is None else value) + cells * self.step
        if self.window is None:
            return min(max(further, shown.low), shown.high)
        self.window = self.window.holding(further)
        return further


class CutView(FigureView):
    """A histogram whose cut is moved by arrow keys and clicks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "cut(-1)", "Cut", key_display="←→"),
        Binding("right", "cut(1)", "Cut right", show=False),
        Binding("ctrl+left", "cut(-10)", "Cut far left", show=False),
        Binding("ctrl+right", "cut(10)", "Cut far right", show=False),
        Binding("comma", "move(-1)", "Read", key_display=",."),
        Binding("full_stop", "move(1)", "Read right", show=False),
        Binding("enter", "keep", "Keep"),
        Binding("escape", "drop", "Put back"),
    ]

    def action_cut(self, cells: int) -> None:
        stands = self.figure.cut if isinstance(self.figure, Histogram) else None
        if (cut := self.moved(stands, cells)) is not None:
            self._put(cut)

    def on_click(self, event: events.Click) -> None:
        if (cut := self.value_at(event.x)) is not None:
            self._put(cut)

    def _put(self, cut: float) -> None:
        self.cursor = None
        self.post_message(CutMoved(cut))

    @property
    def _moved_cut(self) -> float | None:
        return self.figure.cut if isinstance(self.figure, Histogram) and self.figure.moved else None

    def action_keep(self) -> None:
        if (cut := self._moved_cut) is not None:
            self.post_message(CutKept(cut))

    def action_drop(self) -> None:
        if self._moved_cut is not None:
            self.post_message(CutMoved(None))


class CoresView(FigureView):
    """One line a core; it costs nothing while it is hidden."""

    _figures = cores_pages((), known=True)
    _before: CoresSnapshot | None = None
    _reading: Timer | None = None

    def on_mount(self) -> None:
        self._reading = self.set_interval(READ_EVERY_S, self.read, pause=not self.display)

    def on_show(self) -> None:
        if self._reading is not None:
            self._reading.resume()

    def on_hide(self) -> None:
        """Stop reading; a rate over the time between would say nothing."""
        self._before = None
        if self._reading is not None:
            self._reading.pause()

    async def read(self) -> None:
        now = await asyncio.to_thread(read_cores, time.monotonic())
        if self._before is not None:
            self.show_rates(rates(self._before, now))
        self._before = now

    def show_rates(self, found: tuple[CoreRates, ...]) -> None:
        self.show(*cores_pages(found, known=self._before is None or bool(self._before.cores)))
