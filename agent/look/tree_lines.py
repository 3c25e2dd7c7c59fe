"""The tree as lines: each question with its two answers below it, at each end a bar of slow runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...tools.statistics.association.tree import DecisionTree, TreeNode
from .canvas import ASCII, AxisWindow, Ink, Marks, TextCanvas
from .plot import Picture, Sentence, TextFigure

BAR = 10
"""Cells of a bar at 100 %."""


class TreeLine(NamedTuple):
    """One line; `column` is what it asks about, empty where it answers."""

    words: str
    column: str
    slow_share: float


def lines(tree: DecisionTree, marks: Marks) -> tuple[TreeLine, ...]:
    """Lay out the whole tree; every node has one line, in the order in which it is read."""
    return tuple(_lines(tree, tree.nodes[0], "", "", "", marks))


@dataclass(frozen=True, eq=False)
class TreePage(TextFigure):
    """As many lines as there is room for, the chosen one among them; Enter leads to the column that it asks about."""

    tree: DecisionTree
    name: str = "0"
    """The chosen line, from 0."""
    asks = True

    @property
    def chosen(self) -> int:
        """Place of the chosen line."""
        return int(self.name)

    @property
    def column(self) -> str:
        """What the chosen line asks about; empty where it answers."""
        return lines(self.tree, ASCII)[self.chosen].column

    def draw(self, canvas: TextCanvas, window: AxisWindow | None = None, cursor: float | None = None) -> Picture:
        """Draw the lines below what the tree is worth."""
        canvas.write(0, 0, _headline(self.tree), "faint")
        every = lines(self.tree, canvas.marks)
        room = max(canvas.height - 1, 1)
        first = min(max(self.chosen - room // 2, 0), max(len(every) - room, 0))
        for row, (place, line) in enumerate(list(enumerate(every))[first : first + room], 1):
            canvas.write(row, 0, ">" if place == self.chosen else " ", "cursor")
            ink: Ink = "plain" if line.column else "slow" if line.slow_share >= 0.5 else "fast"
            canvas.write(row, 2, line.words, ink)
        return Picture(canvas)


def tree_pages(tree: DecisionTree | None) -> tuple[TextFigure, ...]:
    """Give the tree with each of its lines chosen."""
    if tree is None:
        return (Sentence("There is no tree yet: label the runs first."),)
    return tuple(TreePage(tree, str(chosen)) for chosen in range(len(tree.nodes)))


def _headline(tree: DecisionTree) -> str:
    unseen = "not cross-validated" if tree.cross_validated is None else f"{tree.cross_validated:.2f} on unseen runs"
    return f"Accuracy {tree.in_sample:.2f} fitted, {unseen}; it is no proof."


def _lines(
    tree: DecisionTree, node: TreeNode, before: str, branch: str, condition: str, marks: Marks
) -> list[TreeLine]:
    said = f"{condition}: " if condition else ""
    if node.column is None or node.left is None or node.right is None:
        return [TreeLine(f"{before}{branch}{said}{_bar(node, marks)} {node.answer()}", "", node.slow_share)]
    below = before + {"": "", marks.last_branch: " " * 3}.get(branch, f"{marks.upright}  ")
    asked = TreeLine(f"{before}{branch}{said}{node.column}? ({node.n} runs)", node.column, node.slow_share)
    threshold = f"{node.threshold:.6g}"
    return [
        asked,
        *_lines(tree, tree.nodes[node.left], below, marks.branch, f"at most {threshold}", marks),
        *_lines(tree, tree.nodes[node.right], below, marks.last_branch, f"more than {threshold}", marks),
    ]


def _bar(node: TreeNode, marks: Marks) -> str:
    slow = round(BAR * node.slow_share)
    return marks.slow_bar * slow + marks.level * (BAR - slow)
