"""How much the prediction of slow runs loses without a cluster, and how steadily a cluster comes out on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ..values import FloatArray, IntArray
from .permutation import Floats, Labels, RankedVectors, lesser
from .search import grouped, strongest
from .tree import Singles, balanced_accuracy, grown, guesses, numbered, prepared, stratified

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

REPEATS = 4
"""Times that the runs are dealt out anew over the folds."""
SHUFFLES = 5
SHARED = 1 / 3
MOSTLY = 0.9
"""Share of the trees that must lose by a cluster before their spread says how sure the mean is."""
SUBSAMPLES = 100
SUBSAMPLE_SHARE = 0.632
TOP = 3
DEPTH = 3


class Importance(NamedTuple):
    """Balanced accuracy lost on unseen runs when a cluster is shuffled."""

    mean: float | None
    """None where no tree could be fitted, or none was shown the cluster."""
    low: float | None
    """95 % interval; None where fewer than nine trees in ten lost anything, since it would then be too narrow."""
    high: float | None


def importance(
    columns: FloatArray, classes: ArrayLike, clusters: Sequence[Sequence[int]], seed: int = 0, block: int = 1
) -> list[Importance]:
    """Mean fall of the balanced accuracy on unseen runs when a whole cluster is shuffled, 5-fold, four times over.

    Shuffling a cluster together keeps its members from standing in for each other. The interval is for the loss that
    trees fitted to four fifths of so many runs have on average, over new runs: Nadeau and Bengio (2003) correct the
    variance of the folds for the runs that they share.
    """
    labels = numbered(classes)
    table = prepared(columns, np.arange(labels.size))
    rng = np.random.default_rng(seed)
    losses = []
    for repeat in range(REPEATS):
        for test in stratified(labels, seed + repeat, block) if clusters else []:
            if np.bincount(labels[test], minlength=int(labels.max()) + 1).min() == 0:
                continue
            train = np.setdiff1d(np.arange(labels.size), test, assume_unique=True)
            tree = grown(table[train], labels[train], DEPTH, seed)
            losses.append(_losses(tree, table[test], labels[test], clusters, rng))
    if not losses:
        return [Importance(None, None, None)] * len(clusters)
    return [_interval(column) for column in np.array(losses).T]


def _losses(
    tree: DecisionTreeClassifier,
    table: Singles,
    labels: IntArray,
    clusters: Sequence[Sequence[int]],
    rng: np.random.Generator,
) -> FloatArray:
    """Loss for each cluster on unseen runs, shape (clusters,)."""
    asked = set(tree.tree_.feature.tolist())
    whole = balanced_accuracy(labels, guesses(tree, table))
    # One shuffle serves all clusters: it is the same question put to each, and it is drawn once.
    order = np.concatenate([rng.permutation(labels.size) for _ in range(SHUFFLES)])
    again = np.tile(table, (SHUFFLES, 1))
    repeated = np.tile(labels, SHUFFLES)
    losses = np.zeros(len(clusters))
    for place, cluster in enumerate(clusters):
        used = [column for column in cluster if column in asked]
        if used:
            shuffled = again.copy()
            shuffled[:, used] = table[order][:, used]
            losses[place] = whole - balanced_accuracy(repeated, guesses(tree, shuffled))
    return losses


def _interval(losses: FloatArray) -> Importance:
    """Student's t with the variance of Nadeau and Bengio: s^2 (1 / folds + unseen runs / fitted runs).

    A third takes the place of a quarter for the unseen runs over the fitted: with a quarter, simulated coverage of
    the 95 % was .89 to .95 (normal, lognormal, bimodal columns, 100 and 300 runs, 200 reps).
    """
    mean, count = float(losses.mean()), losses.size
    if count < 2 or np.count_nonzero(losses) < MOSTLY * count:
        return Importance(mean, None, None)
    spread = float(np.sqrt(losses.var(ddof=1) * (1 / count + SHARED)))
    reach = float(stdtrit(count - 1, 0.975)) * spread
    return Importance(mean, mean - reach, mean + reach)


def stability(
    ranked: RankedVectors,
    labels: Labels,
    classes: IntArray,
    clusters: Sequence[Sequence[int]],
    seed: int = 0,
    groups: Sequence[int] = (),
) -> list[float]:
    """Share of 100 subsamples (63 % of the runs of each class) in which a cluster is among the three strongest.

    `groups` are the clusters that are the indicators of one setting, with one statistic each, as in the search.
    """
    if not clusters or classes.max(initial=0) == 0:
        return [0.0] * len(clusters)
    rng = np.random.default_rng(seed)
    drawn = _subsamples(classes, rng)
    z = _link(ranked.vectors, labels.residual, drawn)
    by_cluster = strongest(lesser(z, ranked.places), clusters)
    together = grouped(ranked.vectors, [ranked.places[0, list(clusters[group])].tolist() for group in groups])
    by_cluster[:, list(groups)] = together.equivalent(together.sums(z))
    top = min(TOP, len(clusters))
    bar = np.partition(by_cluster, -top, axis=1)[:, -top]
    return [float(share) for share in (by_cluster >= bar[:, None]).mean(axis=0)]


def _subsamples(classes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Rows of ones for the runs drawn; each class keeps its share, and at least one run."""
    drawn = np.zeros((SUBSAMPLES, classes.size))
    for number in np.unique(classes):
        part = np.flatnonzero(classes == number)
        size = max(1, round(SUBSAMPLE_SHARE * part.size))
        keys = rng.random((SUBSAMPLES, part.size))
        chosen = part[np.argpartition(keys, size - 1, axis=1)[:, :size]]
        np.put_along_axis(drawn, chosen, 1.0, axis=1)
    return drawn


def _link(vectors: Floats, residual: FloatArray, drawn: FloatArray) -> FloatArray:
    """z of labels and ranks in each subsample: subsamples x vectors."""
    rows = drawn.astype(vectors.dtype)
    size = rows.sum(axis=1, keepdims=True)
    mean = (rows @ vectors) / size
    variance = (rows @ vectors**2) / size - mean**2
    labels = rows * residual.astype(vectors.dtype)
    covariance = (labels @ vectors) / size - labels.sum(axis=1, keepdims=True) / size * mean
    whole = (labels**2).sum(axis=1, keepdims=True) / size - (labels.sum(axis=1, keepdims=True) / size) ** 2
    spread = np.sqrt(np.where(variance > 1e-12, variance, np.inf) * np.where(whole > 0, whole, np.inf))
    z: FloatArray = np.sqrt(size) * covariance / spread
    return z
