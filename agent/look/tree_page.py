"""The tree as lines: each question with its two answers below it, at each end a bar of slow runs."""

from __future__ import annotations

from typing import NamedTuple

from ...tools.statistics.association.tree import DecisionTree, TreeNode
from .canvas import Ink, Marks, TextCanvas

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


def headline(tree: DecisionTree) -> str:
    """Say how well the tree does."""
    unseen = "not cross-validated" if tree.cross_validated is None else f"{tree.cross_validated:.2f} on unseen runs"
    return f"Accuracy {tree.in_sample:.2f} fitted, {unseen}; it is no proof."


def tree_page(canvas: TextCanvas, tree: DecisionTree | None, chosen: int = 0) -> tuple[TreeLine, ...]:
    """Draw as many lines as there is room for, the chosen one among them."""
    if tree is None:
        canvas.write(0, 0, "There is no tree yet: label the runs first.")
        return ()
    canvas.write(0, 0, headline(tree), "faint")
    every = lines(tree, canvas.marks)
    room = max(canvas.height - 1, 1)
    first = min(max(chosen - room // 2, 0), max(len(every) - room, 0))
    for row, (place, line) in enumerate(list(enumerate(every))[first : first + room], 1):
        canvas.write(row, 0, ">" if place == chosen else " ", "cursor")
        ink: Ink = "plain" if line.column else "slow" if line.slow_share >= 0.5 else "fast"
        canvas.write(row, 2, line.words, ink)
    return every


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
