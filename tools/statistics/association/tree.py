"""A shallow tree that explains which runs are slow; it ranks nothing and proves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from ..values import BoolArray, FiniteResult, FloatArray, IntArray

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

FOLDS = 5
MOST_RUNS = 200_000
"""Larger tables are sampled, each class alike; classes of at most half as many runs are kept whole."""
MOST_UNSEEN = 20_000
"""Runs for the accuracy on unseen runs: it is then known to half a point."""
MANY = 5_000
"""Runs above which columns are cut into `BINS` steps of equally many runs: sorting them is what takes the time."""
BINS = 256
LEAF = 5
"""Runs of an answer at least."""
Singles = npt.NDArray[np.float32]


def sample(classes: IntArray, most: int, seed: int) -> IntArray:
    """Choose at most `most` runs, in run order; classes no larger than an even share are kept whole."""
    if classes.size <= most:
        return np.arange(classes.size)
    sizes = np.bincount(classes)
    share = _even_share(sizes[sizes > 0], most)
    rng = np.random.default_rng(seed)
    chosen = [
        places if places.size <= share else rng.choice(places, share, replace=False, shuffle=False)
        for places in (np.flatnonzero(classes == number) for number in np.flatnonzero(sizes))
    ]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _even_share(sizes: IntArray, most: int) -> int:
    """Greatest number of runs that each class may have at most, so that all together are at most `most`."""
    left = most
    ascending = np.sort(sizes).tolist()
    for place, size in enumerate(ascending):
        share = left // (len(ascending) - place)
        if size > share:
            return int(share)
        left -= size
    return int(ascending[-1])


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


def fit_tree(
    columns: FloatArray, names: Sequence[str], classes: ArrayLike, depth: int = 3, seed: int = 0, block: int = 1
) -> DecisionTree:
    """Fit to all runs for the questions, and to four fifths at a time for the accuracy on unseen runs.

    `columns` (runs, columns); `classes` a mask of slow runs or class numbers, the worst the highest. With `block`,
    that many neighbouring runs go into the same fold: else a run would be told by its neighbour.
    """
    labels = numbered(classes)
    count = int(labels.max(initial=0)) + 1
    if not len(names) or count < 2:
        return DecisionTree(nodes=(_bare(classes, labels),), in_sample=0.5, cross_validated=None, runs=labels.size)
    rows = sample(labels, MOST_RUNS, seed)
    chosen, table = labels[rows], prepared(columns, rows)
    fitted = grown(table, chosen, depth, seed)
    return DecisionTree(
        nodes=_nodes(fitted, table, columns, rows, names, chosen),
        in_sample=balanced_accuracy(chosen, guesses(fitted, table)),
        cross_validated=_unseen(table, chosen, depth, seed, block),
        runs=rows.size,
    )


def numbered(classes: ArrayLike) -> IntArray:
    """Number the classes from 0, the best first; only those that occur."""
    return np.unique(np.asarray(classes).ravel(), return_inverse=True)[1].astype(np.int64)


def prepared(columns: FloatArray, rows: IntArray) -> Singles:
    """Make some runs fit for the tree, which works in single precision, where large counters lose their digits.

    Each column is measured from its median, or with many runs replaced by the number of its bin.
    """
    table = np.empty((rows.size, columns.shape[1]), dtype=np.float32, order="F")
    for place in range(columns.shape[1]):
        values = columns[rows, place]
        if rows.size > MANY:
            edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], method="higher"))
            table[:, place] = np.searchsorted(edges, values, side="left")
            continue
        away = values - np.median(values)
        reach = np.abs(away).max(initial=0.0)
        table[:, place] = away / (reach if reach > 0 else 1.0)
    return table


def grown(
    table: Singles, classes: IntArray, depth: int, seed: int, alike: bool = True, **others: Any
) -> DecisionTreeClassifier:
    """Fit the tree that is used everywhere: equal splits are drawn by the seed, and classes weigh the same if `alike`.

    `others` are parameters of scikit-learn that differ. What it would check of a table takes longer than the tree.
    """
    from sklearn import config_context  # half a second to load, which most commands can spare
    from sklearn.tree import DecisionTreeClassifier

    # What rounding leaves of a pure node would be split once more.
    given = {"max_depth": depth, "min_samples_leaf": LEAF, "random_state": seed % 2**32, "min_impurity_decrease": 1e-9}
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return DecisionTreeClassifier(**given | others).fit(
            table, classes, sample_weight=_weights(classes) if alike else None, check_input=False
        )


def _weights(classes: IntArray) -> FloatArray:
    """Weigh each run so that all classes together weigh the same."""
    sizes = np.bincount(classes)
    weights: FloatArray = classes.size / (np.count_nonzero(sizes) * np.maximum(sizes, 1))
    return weights[classes]


def guesses(tree: DecisionTreeClassifier, table: Singles) -> IntArray:
    """Guess the class of each run."""
    guessed: IntArray = tree.classes_[tree.tree_.predict(table).argmax(axis=1)]
    return guessed


def stratified(labels: IntArray, seed: int, block: int = 1) -> list[IntArray]:
    """Deal each class out over at most five folds; no fold where a class has fewer than two runs.

    Blocks of neighbouring runs are dealt whole, so that folds are then only about as large as each other.
    """
    sizes = np.bincount(labels)
    count = min([FOLDS, *sizes[sizes > 0].tolist()])
    if count < 2 or (sizes > 0).sum() < 2:
        return []
    rng = np.random.default_rng(seed)
    if block > 1:
        # At least two blocks a fold: fewer would often leave a fold without a class.
        blocks = np.arange(labels.size) // max(1, min(block, labels.size // (2 * count)))
        fold = rng.permutation(np.arange(int(blocks[-1]) + 1) % count)[blocks]
        return [np.flatnonzero(fold == number) for number in range(count)]
    dealt = np.concatenate([rng.permutation(np.flatnonzero(labels == number)) for number in np.flatnonzero(sizes)])
    return [np.sort(dealt[start::count]) for start in range(count)]


def balanced_accuracy(labels: IntArray, guessed: IntArray | BoolArray) -> float:
    """Mean over the classes of the share of their runs that were recognised: a guess gives 1 / classes."""
    sizes = np.bincount(labels)
    right = np.bincount(labels, weights=labels == guessed, minlength=sizes.size)
    return float((right[sizes > 0] / sizes[sizes > 0]).mean())


def _unseen(table: Singles, labels: IntArray, depth: int, seed: int, block: int) -> float | None:
    rows = sample(labels, MOST_UNSEEN, seed)
    if rows.size < labels.size:
        table, labels = table[rows], labels[rows]
    folds = stratified(labels, seed, block)
    if not folds:
        return None
    guessed = np.zeros_like(labels)
    for test in folds:
        train: BoolArray = np.ones(labels.size, dtype=np.bool_)
        train[test] = False
        guessed[test] = guesses(grown(table[train], labels[train], depth, seed), table[test])
    return balanced_accuracy(labels, guessed)


def _bare(classes: ArrayLike, labels: IntArray) -> TreeNode:
    """One node for runs of one class: slow ones if a mask says so."""
    slow = np.asarray(classes).ravel()
    share = (
        float((slow == slow.max()).mean()) if labels.max(initial=0) else float(np.mean(slow > 0)) if slow.size else 0.0
    )
    return TreeNode(id=0, n=labels.size, slow_share=share)


def _nodes(
    fitted: DecisionTreeClassifier,
    table: Singles,
    columns: FloatArray,
    rows: IntArray,
    names: Sequence[str],
    labels: IntArray,
) -> tuple[TreeNode, ...]:
    inner, count = fitted.tree_, int(labels.max()) + 1
    through = fitted.decision_path(table).toarray().astype(bool)
    nodes = []
    for place in range(inner.node_count):
        here = through[:, place]
        shares = tuple((np.bincount(labels[here], minlength=count) / here.sum()).tolist())
        facts = {"n": int(here.sum()), "slow_share": shares[-1], "shares": shares if count > 2 else ()}
        left, right = int(inner.children_left[place]), int(inner.children_right[place])
        if left < 0:
            nodes.append(TreeNode(id=place, **facts))
            continue
        column = int(inner.feature[place])
        values = columns[rows, column]
        threshold = (values[through[:, left]].max() + values[through[:, right]].min()) / 2
        nodes.append(
            TreeNode(id=place, column=names[column], threshold=float(threshold), left=left, right=right, **facts)
        )
    return tuple(nodes)
