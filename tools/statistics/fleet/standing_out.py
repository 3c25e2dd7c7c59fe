"""What goes with nodes: columns whose level follows that of the nodes, and where an odd node stands out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from ..values import ColumnCorrelation, FiniteResult, FloatArray, IntArray, number

LEAST_NODES = 6
"""With fewer, no order of nodes is rarer than one in twenty once it is paid for."""
PERMUTATIONS = 1999
FAR = 5.0
"""Robust SDs of the other nodes beyond which a column of an odd node is worth naming."""
MOST_NAMED = 6


class NodeDifference(FiniteResult):
    """A column in which an odd node stands out."""

    name: str
    here: float
    """Median on the node."""
    elsewhere: float
    """Median of the medians of the other nodes."""
    distance: float | None
    """In robust SDs of the other nodes and of the runs of a node; None: the others never vary."""


def medians(values: FloatArray, codes: IntArray, nodes: int) -> FloatArray:
    """Median of each column (runs, columns) on each node, shape (nodes, columns)."""
    return np.array([np.median(values[codes == node], axis=0) for node in range(nodes)])


def between(
    of_nodes: FloatArray, location: FloatArray, names: Sequence[str], *, seed: int = 1
) -> tuple[ColumnCorrelation, ...]:
    """Rank columns by how their node medians (nodes, columns) follow the level of nodes (nodes,); () for few nodes.

    Spearman's correlation; p-values by the greatest over all columns under permuted nodes (maxT).
    """
    if location.size < LEAST_NODES or not names:
        return ()
    columns, level = _scores(of_nodes), _scores(location[:, None])[:, 0]
    seen = level @ columns
    rng = np.random.default_rng(seed)
    greatest = np.array([np.abs(rng.permutation(level) @ columns).max() for _ in range(PERMUTATIONS)])
    p_values = (1 + (greatest[:, None] >= np.abs(seen)[None, :] - 1e-12).sum(axis=0)) / (PERMUTATIONS + 1)
    found = [
        ColumnCorrelation(name=name, correlation=r, p_value=p) for name, r, p in zip(names, seen, p_values, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: -abs(one.correlation)))


def _scores(values: FloatArray) -> FloatArray:
    """Ranks of each column, centred and of length 1; zeros where nothing varies."""
    ranks = rankdata(values, axis=0) - (values.shape[0] + 1) / 2
    length = np.sqrt((ranks**2).sum(axis=0))
    scores: FloatArray = np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)
    return scores


def differs(
    values: FloatArray, codes: IntArray, of_nodes: FloatArray, node: int, names: Sequence[str]
) -> tuple[NodeDifference, ...]:
    """Name the columns in which a node is furthest from the others, the furthest first.

    Distance: from the median of the other nodes, over 1.4826 MAD of those nodes and of their runs about them, the
    greater of both; a column that is the same in all other runs and not here has an infinite one.
    """
    others = np.delete(of_nodes, node, axis=0)
    centre = np.median(others, axis=0)
    elsewhere = codes != node
    noise = 1.4826 * np.median(np.abs(values[elsewhere] - of_nodes[codes[elsewhere]]), axis=0)
    scale = np.maximum(1.4826 * np.median(np.abs(others - centre), axis=0), noise)
    away = np.abs(of_nodes[node] - centre)
    distance = np.divide(away, scale, out=np.where(away > 0, np.inf, 0.0), where=scale > 0)
    order = np.lexsort((-away, -distance))
    return tuple(
        NodeDifference(
            name=names[place], here=of_nodes[node, place], elsewhere=centre[place], distance=number(distance[place])
        )
        for place in order[:MOST_NAMED]
        if distance[place] >= FAR
    )
