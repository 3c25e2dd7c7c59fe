"""A shallow tree that explains which runs are slow; it ranks nothing and proves nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier

from ..values import BoolArray, FloatArray, IntArray, Result

FOLDS = 5


class Node(Result):
    """A question, or with no column an answer."""

    id: int
    column: str | None = None
    threshold: float | None = None
    """Runs with at most this much go left; it lies between two runs."""
    left: int | None = None
    right: int | None = None
    n: int
    slow_share: float
    """Share of the runs at this node that are slow."""


class Tree(Result):
    """Its nodes, the root first, and how well it does."""

    nodes: tuple[Node, ...]
    in_sample: float
    """Balanced accuracy on the runs it was fitted to: near 1 even for noise."""
    cross_validated: float | None
    """Balanced accuracy on runs it had not seen; None with fewer than two runs in a class."""

    def text(self) -> str:
        """Draw it with one line a node."""
        return "\n".join(self._lines(self.nodes[0], "")) + "\n"

    def _lines(self, node: Node, indent: str) -> list[str]:
        if node.column is None or node.left is None or node.right is None:
            return [f"{indent}{node.slow_share:.0%} of {node.n} runs slow"]
        return [
            f"{indent}{node.column} <= {node.threshold:.6g}",
            *self._lines(self.nodes[node.left], indent + "  "),
            f"{indent}{node.column} > {node.threshold:.6g}",
            *self._lines(self.nodes[node.right], indent + "  "),
        ]


def fit_tree(
    columns: FloatArray, names: Sequence[str], slow: ArrayLike, depth: int = 3, leaf: int = 5, seed: int = 0
) -> Tree:
    """Fit to all runs for the questions, and to four fifths at a time for the accuracy on unseen runs."""
    mask: BoolArray = np.asarray(slow, dtype=np.bool_)
    if not len(names) or mask.all() or not mask.any():
        root = Node(id=0, n=mask.size, slow_share=float(mask.mean()) if mask.size else 0.0)
        return Tree(nodes=(root,), in_sample=0.5, cross_validated=None)
    centred = around_median(columns)
    fitted = classifier(depth, leaf, seed).fit(centred, mask)
    guesses = np.zeros(mask.size, dtype=np.bool_)
    folds = stratified(mask, seed)
    for test in folds:
        guesses[test] = (
            classifier(depth, leaf, seed).fit(np.delete(centred, test, 0), np.delete(mask, test)).predict(centred[test])
        )
    return Tree(
        nodes=_nodes(fitted, columns, names, mask),
        in_sample=balanced_accuracy(mask, fitted.predict(centred)),
        cross_validated=balanced_accuracy(mask, guesses) if folds else None,
    )


def around_median(columns: FloatArray) -> FloatArray:
    """Measure each column from its median: the tree works in single precision, where large counters lose digits."""
    away = columns - np.median(columns, axis=0)
    reach = np.abs(away).max(axis=0)
    return away / np.where(reach > 0, reach, 1.0)


def classifier(depth: int, leaf: int, seed: int) -> DecisionTreeClassifier:
    """Make the tree that is used everywhere: both classes weigh the same, equal splits are drawn by the seed."""
    return DecisionTreeClassifier(
        max_depth=depth, min_samples_leaf=leaf, class_weight="balanced", random_state=seed % 2**32
    )


def stratified(mask: BoolArray, seed: int) -> list[IntArray]:
    """Deal both classes out over at most five folds; no fold where a class has fewer than two runs."""
    slow, fast = np.flatnonzero(mask), np.flatnonzero(~mask)
    count = min(FOLDS, slow.size, fast.size)
    if count < 2:
        return []
    rng = np.random.default_rng(seed)
    dealt = np.concatenate((rng.permutation(slow), rng.permutation(fast)))
    return [np.sort(dealt[start::count]) for start in range(count)]


def balanced_accuracy(mask: BoolArray, guesses: BoolArray) -> float:
    """Mean of the shares of slow and of fast runs that were recognised: 0.5 is a coin."""
    return float((guesses[mask].mean() + (~guesses[~mask]).mean()) / 2)


def _nodes(
    fitted: DecisionTreeClassifier, columns: FloatArray, names: Sequence[str], mask: BoolArray
) -> tuple[Node, ...]:
    inner = fitted.tree_
    through = fitted.decision_path(around_median(columns)).toarray().astype(bool)
    nodes = []
    for place in range(inner.node_count):
        here = through[:, place]
        counts = {"n": int(here.sum()), "slow_share": float(mask[here].mean())}
        left, right = int(inner.children_left[place]), int(inner.children_right[place])
        if left < 0:
            nodes.append(Node(id=place, **counts))
            continue
        column = int(inner.feature[place])
        values = columns[:, column]
        threshold = (values[through[:, left]].max() + values[through[:, right]].min()) / 2
        nodes.append(Node(id=place, column=names[column], threshold=float(threshold), left=left, right=right, **counts))
    return tuple(nodes)
