"""The distribution with its cut line, which arrow keys and clicks move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ...look.canvas import TextCanvas
from ...look.clipped import clipped
from ...look.distribution import Cutting, distribution
from ...look.frame import Picture
from ...look.scale import AxisWindow
from ...look.scenes import PlottedOutcomes
from .picture_view import PlotView


class DistributionView(PlotView):
    """Bars of slow and fast runs."""

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

    @dataclass
    class CutMoved(Message):
        """The cut line stands elsewhere; nothing is recorded yet."""

        cut: float
        """In the unit of the outcome."""

    class KeepPressed(Message):
        """The user wants the cut where it stands now."""

    class CutDropped(Message):
        """The user wants the cut as it is recorded."""

    _outcomes = PlottedOutcomes()
    cutting = Cutting()
    """Where the line stands."""
    _modes: tuple[float, ...] = ()

    def show(self, outcomes: PlottedOutcomes, cutting: Cutting, modes: tuple[float, ...]) -> None:
        """Show these runs and this cut; a cut that was moved is drawn at once, since a key moved it."""
        at_once = cutting != self.cutting and outcomes is self._outcomes
        self._outcomes, self.cutting, self._modes = outcomes, cutting, modes
        if at_once:
            self.redraw()
        else:
            self.changed()

    @property
    def span(self) -> AxisWindow | None:
        """All runs, far ones aside."""
        whole = clipped(self._outcomes.values)
        return whole.window if whole else None

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw the distribution."""
        return distribution(canvas, self._outcomes, self.cutting, self.window, self.cursor, self._modes)

    def action_cut(self, cells: int) -> None:
        shown = self.window or self.span
        if shown is None or not self.step:
            return
        here = (shown.low + shown.high) / 2 if self.cutting.cut is None else self.cutting.cut
        cut = here + cells * self.step
        if self.window is not None:
            self.window = self.window.holding(cut)
        self.cursor = None
        self.post_message(self.CutMoved(min(max(cut, shown.low), shown.high) if self.window is None else cut))

    def on_click(self, event: events.Click) -> None:
        value = self.value_at(event.x)
        if value is not None:
            self.cursor = None
            self.post_message(self.CutMoved(value))

    def action_keep(self) -> None:
        if self.cutting.moved:
            self.post_message(self.KeepPressed())

    def action_drop(self) -> None:
        if self.cutting.moved:
            self.post_message(self.CutDropped())
