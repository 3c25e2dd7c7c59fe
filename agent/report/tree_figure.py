"""The tree drawn: questions from left to right, at each end the share of slow runs as a bar."""

from __future__ import annotations

from matplotlib.axes import Axes

from ...tools.statistics.association.tree import DecisionTree, TreeNode
from .numbers import number
from .svg import BASELINE, FAINT, INK, MITIGATED, WIDTH, canvas

LEAF_HEIGHT = 0.32
"""Inches a leaf takes."""
BAR = 0.5
"""Inches of a bar at 100 %."""
LETTER = 0.072
"""Inches a bold letter takes on average."""
ANSWER = 1.9
"""Inches kept for bar and words of a leaf."""


def tree(fitted: DecisionTree) -> str:
    """Draw it."""
    rows: dict[int, float] = {}
    leaves = _place(fitted, fitted.nodes[0], rows, 0)
    nodes = _walk(fitted, fitted.nodes[0], 0)
    height = LEAF_HEIGHT * max(leaves, 2) + 0.1
    words = f"Decision tree with {leaves} leaves: " + " ".join(fitted.text().split())
    with canvas("tree", words, height) as page:
        axes = page.figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(0, WIDTH), ylim=(max(leaves, 2) - 0.4, -0.6))
        step = (WIDTH - ANSWER) / max(1, *(level for level, _ in nodes))
        for level, node in nodes:
            _draw(axes, fitted, node, 0.05 + level * step, step, rows)
    return page.svg


def _draw(axes: Axes, fitted: DecisionTree, node: TreeNode, x: float, step: float, rows: dict[int, float]) -> None:
    y = rows[node.id]
    if node.column is None or node.left is None or node.right is None:
        slow = node.slow_share >= 0.5
        axes.barh(y, BAR, 0.5, left=x, color="none", edgecolor=FAINT, linewidth=0.6)
        axes.barh(y, BAR * node.slow_share, 0.5, left=x, color=BASELINE if slow else MITIGATED, linewidth=0)
        axes.text(x + BAR + 0.06, y, f"{node.slow_share:.0%} of {node.n} runs slow", va="center", fontsize=7)
        return
    top, bottom = rows[node.left], rows[node.right]
    trunk = x + 0.06
    axes.plot([trunk, trunk], [top, bottom], color=INK, linewidth=0.8)
    axes.text(
        trunk + 0.06, y, _shortened(node.column, int(step / LETTER)), va="center", fontsize=7.5, fontweight="bold"
    )
    for row, sign, side, edge in ((top, "≤", -0.08, "bottom"), (bottom, ">", 0.1, "top")):
        axes.plot([trunk, x + step - 0.04], [row, row], color=INK, linewidth=0.8)
        axes.text(trunk + 0.06, row + side, f"{sign} {number(node.threshold)}", va=edge, fontsize=7)


def _shortened(name: str, room: int) -> str:
    """Leave out the middle: columns of one kind begin alike."""
    if len(name) <= room:
        return name
    head = room // 2
    return f"{name[:head]}…{name[len(name) - (room - head - 1) :]}"


def _place(fitted: DecisionTree, node: TreeNode, rows: dict[int, float], used: int) -> int:
    """Give each leaf a row and each question the middle of its answers; return how many leaves there are."""
    if node.left is None or node.right is None:
        rows[node.id] = float(used)
        return 1
    first = _place(fitted, fitted.nodes[node.left], rows, used)
    second = _place(fitted, fitted.nodes[node.right], rows, used + first)
    rows[node.id] = (rows[node.left] + rows[node.right]) / 2
    return first + second


def _walk(fitted: DecisionTree, node: TreeNode, level: int) -> list[tuple[int, TreeNode]]:
    below = [fitted.nodes[child] for child in (node.left, node.right) if child is not None]
    return [(level, node), *(pair for child in below for pair in _walk(fitted, child, level + 1))]
