"""The plots that are only read: run order, one factor, baseline against mitigated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from ....tools.statistics.association.tree import DecisionTree
from ...look.canvas import TextCanvas
from ...look.clipped import clipped
from ...look.cores import CoreRates, CoresSnapshot, cores_page, rates, read_cores
from ...look.distribution import Cutting, overlay
from ...look.frame import Picture, words
from ...look.run_order import run_order
from ...look.scale import AxisWindow, extent
from ...look.scatter import factor_scatter
from ...look.scenes import Overlay, PlottedOutcomes, Scatter
from ...look.tree_page import TreeLine, tree_page
from .picture_view import PictureView, PlotView

CHOOSE: list[BindingType] = [
    Binding("up", "choose(-1)", "Other", key_display="↑↓"),
    Binding("down", "choose(1)", "Next", show=False),
]
NO_FACTOR = "There is no factor to show yet: rank the factors first."
NO_COMPARISON = "There is nothing to compare yet: try a mitigation, or open a second run."


class RunOrderView(PlotView):
    """Outcomes in run order."""

    _outcomes, _cutting = PlottedOutcomes(), Cutting()

    def show(self, outcomes: PlottedOutcomes, cutting: Cutting) -> None:
        """Show these runs."""
        self._outcomes, self._cutting = outcomes, cutting
        self.changed()

    @property
    def span(self) -> AxisWindow | None:
        """From the first run to the last."""
        runs = self._outcomes.values.size
        return AxisWindow(0.5, runs + 0.5) if runs else None

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw the runs."""
        return run_order(canvas, self._outcomes, self._cutting, self.window, self.cursor)


class FactorView(PlotView):
    """One factor against the outcome; up and down choose another."""

    BINDINGS: ClassVar[list[BindingType]] = CHOOSE

    @dataclass
    class ColumnRequested(Message):
        """A column is to be shown whose numbers are not here."""

        column: str

    _columns: tuple[str, ...] = ()
    _scatters: Mapping[str, Scatter] = MappingProxyType({})
    _cut: float | None = None
    column = ""
    """That is shown."""

    def show(self, columns: tuple[str, ...], scatters: Mapping[str, Scatter], cut: float | None) -> None:
        """Offer these columns, the most convincing first; those in `scatters` can be drawn."""
        self._columns, self._scatters, self._cut = columns, scatters, cut
        if self.column not in columns:
            self.look_at(columns[0] if columns else "")
        self.changed()

    def look_at(self, column: str) -> None:
        """Show a column; ask for its numbers where they are not here."""
        self.column, self.window, self.cursor = column, None, None
        if column and column not in self._scatters:
            self.post_message(self.ColumnRequested(column))
        self.redraw()

    def action_choose(self, direction: int) -> None:
        if self._columns:
            place = self._columns.index(self.column) if self.column in self._columns else 0
            self.look_at(self._columns[(place + direction) % len(self._columns)])

    @property
    def span(self) -> AxisWindow | None:
        """All values of the column."""
        scatter = self._scatters.get(self.column)
        return None if scatter is None else extent(scatter.values)

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw the column."""
        scatter = self._scatters.get(self.column)
        if scatter is None:
            return words(canvas, f"Reading {self.column}." if self.column else NO_FACTOR)
        return factor_scatter(canvas, scatter, self._cut, self.window, self.cursor)


class OverlayView(PlotView):
    """Baseline and one mitigation; up and down choose another."""

    BINDINGS: ClassVar[list[BindingType]] = CHOOSE

    _overlays: tuple[Overlay, ...] = ()
    _place = 0

    def show(self, overlays: tuple[Overlay, ...]) -> None:
        """Offer these; the newest, which is the last, is shown where there are more than before."""
        if len(overlays) != len(self._overlays):
            self._place, self.window = max(len(overlays) - 1, 0), None
        self._overlays = overlays
        self.changed()

    def action_choose(self, direction: int) -> None:
        if self._overlays:
            self._place, self.window = (self._place + direction) % len(self._overlays), None
            self.redraw()

    @property
    def span(self) -> AxisWindow | None:
        """All runs of both arms, far ones aside."""
        if not self._overlays:
            return None
        shown = self._overlays[self._place]
        whole = clipped(shown.baseline.values, shown.mitigated.values)
        return whole.window if whole else None

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw both arms."""
        if not self._overlays:
            return words(canvas, NO_COMPARISON)
        return overlay(canvas, self._overlays[self._place], self.window, self.cursor)


class TreeView(PictureView):
    """One line a node."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Line", key_display="↑↓"),
        Binding("down", "choose(1)", "Next line", show=False),
        Binding("enter", "ask", "Show column"),
    ]

    @dataclass
    class ColumnChosen(Message):
        """The user wants to see a column of the tree."""

        column: str

    _tree: DecisionTree | None = None
    _lines: tuple[TreeLine, ...] = ()
    _chosen = 0

    def show(self, tree: DecisionTree | None) -> None:
        """Show a tree."""
        if tree is not self._tree:
            self._tree = tree
            self.changed()

    def picture(self, canvas: TextCanvas) -> Picture:
        """Draw the lines."""
        self._lines = tree_page(canvas, self._tree, self._chosen)
        return Picture(canvas)

    def action_choose(self, lines: int) -> None:
        self._chosen = min(max(self._chosen + lines, 0), max(len(self._lines) - 1, 0))
        self.redraw()

    def action_ask(self) -> None:
        if self._chosen < len(self._lines) and self._lines[self._chosen].column:
            self.post_message(self.ColumnChosen(self._lines[self._chosen].column))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_choose(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_choose(1)


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
        self._first = min(max(self._first + lines, 0), max(len(self._rates) - 1, 0))
        self.redraw()
