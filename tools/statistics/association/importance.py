"""How much the prediction of slow runs loses without a cluster, and how steadily a cluster comes out on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..ranks import centred_ranks
from ..values import BoolArray, FloatArray
from .tree import around_median, balanced_accuracy, classifier, stratified

REPEATS = 10
SUBSAMPLES = 100
SUBSAMPLE_SHARE = 0.632
TOP = 3


def importance(
    columns: FloatArray, slow: ArrayLike, groups: Sequence[Sequence[int]], seed: int = 0, depth: int = 3, leaf: int = 5
) -> list[float]:
    """Mean fall of the balanced accuracy on unseen runs when a whole cluster is shuffled (cross-validated).

    Shuffling a cluster together keeps its members from standing in for each other.
    """
    mask: BoolArray = np.asarray(slow, dtype=np.bool_)
    folds = stratified(mask, seed)
    losses = np.zeros(len(groups))
    if not folds or not groups:
        return [0.0] * len(groups)
    rng = np.random.default_rng(seed)
    centred = around_median(columns)
    for test in folds:
        tree = classifier(depth, leaf, seed).fit(np.delete(centred, test, 0), np.delete(mask, test))
        asked = set(tree.tree_.feature.tolist())
        whole = balanced_accuracy(mask[test], tree.predict(centred[test]))
        # One shuffle serves all clusters: it is the same question put to each, and it is drawn once.
        orders = rng.permuted(np.tile(np.arange(test.size), (REPEATS, 1)), axis=1)
        for place, group in enumerate(groups):
            if asked.isdisjoint(group):
                continue
            shuffled = np.tile(centred[test], (REPEATS, 1))
            shuffled[:, list(group)] = centred[test][orders.ravel()][:, list(group)]
            guesses = tree.predict(shuffled).reshape(REPEATS, -1)
            losses[place] += whole - np.mean([balanced_accuracy(mask[test], guess) for guess in guesses])
    return [float(loss) / len(folds) for loss in losses]


def stability(
    columns: FloatArray,
    slow: ArrayLike,
    groups: Sequence[Sequence[int]],
    seed: int = 0,
    rates: FloatArray | None = None,
) -> list[float]:
    """Share of 100 subsamples (63 % of the runs) in which a cluster is among the three most strongly linked."""
    mask: BoolArray = np.asarray(slow, dtype=np.bool_)
    if not groups or mask.all() or not mask.any():
        return [0.0] * len(groups)
    rng = np.random.default_rng(seed)
    drawn = _subsamples(mask, rng)
    strength = _link(centred_ranks(columns), mask, drawn)
    if rates is not None:
        other = _link(centred_ranks(rates), mask, drawn)
        strength = np.where(np.sign(strength) == np.sign(other), np.minimum(abs(strength), abs(other)), 0.0)
    by_group = np.stack([np.abs(strength[:, list(group)]).max(axis=1) for group in groups], axis=1)
    above = (by_group[:, :, None] < by_group[:, None, :]).sum(axis=2)
    return [float(share) for share in (above < TOP).mean(axis=0)]


def _subsamples(mask: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Rows of ones for the runs drawn; each class keeps its share, and at least one run."""
    drawn = np.zeros((SUBSAMPLES, mask.size))
    for part in (np.flatnonzero(mask), np.flatnonzero(~mask)):
        size = max(1, round(SUBSAMPLE_SHARE * part.size))
        keys = rng.random((SUBSAMPLES, part.size))
        chosen = part[np.argsort(keys, axis=1)[:, :size]]
        np.put_along_axis(drawn, chosen, 1.0, axis=1)
    return drawn


def _link(ranks: FloatArray, mask: BoolArray, drawn: FloatArray) -> FloatArray:
    """Standardised difference of mean rank, slow against fast, in each subsample: subsamples x columns."""
    slow, fast = drawn * mask, drawn * ~mask
    difference = (slow @ ranks) / slow.sum(axis=1, keepdims=True) - (fast @ ranks) / fast.sum(axis=1, keepdims=True)
    size = drawn.sum(axis=1, keepdims=True)
    variance = (drawn @ ranks**2) / size - ((drawn @ ranks) / size) ** 2
    link: FloatArray = difference / np.sqrt(np.where(variance > 0, variance, np.inf))
    return link
