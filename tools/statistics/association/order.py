"""Whether slowness goes with the order of the runs itself: drift, or a warm-up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..ranks import auc, class_scores
from ..values import FiniteResult, IntArray
from .chance import labels_of
from .clusters import collinear
from .columns import Columns
from .importance import importance, stability
from .look import look

ORDER = "the order of the runs"


class Drift(FiniteResult):
    """How slowness goes with the order of the runs itself."""

    auc: float
    """Chance that a slow run came after a fast one."""
    p_value: float
    """That labels whose neighbours are as alike as these, but have no trend, would show as much."""
    importance: float
    """Balanced accuracy lost on unseen runs when the order is shuffled."""
    stability: float
    """Share of subsamples in which it is among the three strongest, beside the clusters of columns."""


def drift_of(columns: Columns, classes: ArrayLike, per: ArrayLike, permutations: int = 2000, seed: int = 0) -> Drift:
    """Test whether slowness moves with the order of the runs; the arguments are those of `factors.associate`.

    Blocks of runs are shuffled, as long as what is left after the trend needs: the trend itself must not lengthen
    them, or it would hide behind its own dependence.
    """
    scores = class_scores(classes)
    order = np.arange(scores.size, dtype=np.float64)[:, None]
    block = labels_of(scores, ordered=True).block
    centred = order[:, 0] - order.mean()
    drawn = _shuffled(scores.size, block, permutations, np.random.default_rng(seed))
    beaten = int((np.abs(scores[drawn] @ centred) >= abs(float(scores @ centred)) - 1e-9).sum())
    lost, steady = _beside(columns, classes, per, seed)
    return Drift(
        auc=float(auc(order, classes)[0]),
        p_value=(1 + beaten) / (1 + permutations),
        importance=lost,
        stability=steady,
    )


def _beside(columns: Columns, classes: ArrayLike, per: ArrayLike, seed: int) -> tuple[float, float]:
    """Importance and stability of the order as one column among the others, from which no trend is taken."""
    runs = columns.values.shape[0]
    values = np.column_stack((columns.values, np.arange(runs, dtype=np.float64)))
    both = replace(columns, names=(*columns.names, ORDER), values=values, levels=columns.levels | {ORDER})
    looked = look(both, classes, np.zeros(runs), per, ordered=False)
    last = len(looked.names) - 1
    strength = np.abs(looked.ranked.auc[: last + 1] - 0.5)
    found = collinear(looked.ranked.raw, looked.names, strength, {ORDER: 1}, columns.groups)
    clusters = [[looked.place_of[name] for name in cluster.members] for cluster in found]
    own = next(number for number, cluster in enumerate(clusters) if last in cluster)
    steady = stability(looked.ranked, looked.labels, looked.classes, clusters, seed)[own]
    return importance(both.values[:, looked.kept], classes, [[last]], seed)[0].mean or 0.0, steady


def _shuffled(runs: int, block: int, count: int, rng: np.random.Generator) -> IntArray:
    """Orders of the runs: the circle of runs is cut into blocks at a random place, and the blocks are shuffled."""
    keys = np.repeat(rng.random((count, -(-runs // block))), block, axis=1)[:, :runs]
    orders: IntArray = (np.argsort(keys, axis=1, kind="stable") + rng.integers(runs, size=(count, 1))) % runs
    return orders
