"""What a fitted tree is; it brings no library along, so that the interface can draw it."""

from __future__ import annotations

from ..values import FiniteResult


class TreeNode(FiniteResult):
    """A question, or with no column an answer."""

    id: int
    column: str | None = None
    threshold: float | None = None
    """Runs with at most this much go left; it lies between two runs."""
    left: int | None = None
    right: int | None = None
    n: int
    slow_share: float
    """Share of the runs at this node that are slow: of the worst class."""
    shares: tuple[float, ...] = ()
    """Share of each class, the best first, where there are more than two."""

    def answer(self) -> str:
        """Say what the tree answers here."""
        if not self.shares:
            return f"{self.slow_share:.0%} of {self.n} runs slow"
        return f"{self.n} runs, best class first: {', '.join(f'{share:.0%}' for share in self.shares)}"


class DecisionTree(FiniteResult):
    """Its nodes, the root first, and how well it does."""

    nodes: tuple[TreeNode, ...]
    in_sample: float
    """Balanced accuracy on the runs it was fitted to: near 1 even for noise."""
    cross_validated: float | None
    """Balanced accuracy on runs it had not seen; None with fewer than two runs in a class."""
    runs: int = 0
    """Runs that it was fitted to: fewer than there are where the table was too large."""

    def text(self) -> str:
        """Draw it with one line a node."""
        return "\n".join(self._lines(self.nodes[0], "")) + "\n"

    def _lines(self, node: TreeNode, indent: str) -> list[str]:
        if node.column is None or node.left is None or node.right is None:
            return [f"{indent}{node.answer()}"]
        return [
            f"{indent}{node.column} <= {node.threshold:.6g}",
            *self._lines(self.nodes[node.left], indent + "  "),
            f"{indent}{node.column} > {node.threshold:.6g}",
            *self._lines(self.nodes[node.right], indent + "  "),
        ]
