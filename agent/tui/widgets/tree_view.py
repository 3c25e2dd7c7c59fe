"""The decision tree as lines; enter shows the column that a question asks about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ....tools.statistics.association.tree import DecisionTree
from ...look.canvas import TextCanvas
from ...look.frame import Picture
from ...look.tree_page import TreeLine, tree_page
from .picture_view import PictureView


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
        """Go to another line."""
        self._chosen = min(max(self._chosen + lines, 0), max(len(self._lines) - 1, 0))
        self.redraw()

    def action_ask(self) -> None:
        """Show the column of the chosen line."""
        if self._chosen < len(self._lines) and self._lines[self._chosen].column:
            self.post_message(self.ColumnChosen(self._lines[self._chosen].column))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Go up."""
        event.stop()
        self.action_choose(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Go down."""
        event.stop()
        self.action_choose(1)
