"""Whether slow runs divide their samples among functions as fast ones do, and what else goes with them: by permutation.

Of run i, n_i samples fall into functions, c_ij into function j, p_j of all. Shares of runs vary more than luck in
drawing samples makes them: Var(c_ij / n_i) = p_j (1 - p_j) (1 + (n_i - 1) rho) / n_i, as of Dirichlet-multinomial
counts (Mosimann 1962), with rho from Pearson's sum of squares. A run weighs w_i = n_i / (1 + (n_i - 1) rho) in the
mean of its class. Slow runs have more samples, so that their shares cannot be exchanged with those of fast ones;
permuted are deviations from the common share in units of their SD, sqrt(w_i / (1 - h_i)) (c_ij / n_i - p_j) with the
leverage h_i = w_i / sum w, and the common share is estimated anew each time (Freedman and Lane 1983). The level that
this has is simulated by `benchmarks/calibration.py --only mix`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..values import SMALLEST, BoolArray, FloatArray

PERMUTATIONS = 2000
ALPHA = 0.05
ROUNDING = 1e-9
"""What arithmetic in floating point may change."""


class MixTest(NamedTuple):
    """How much the functions of slow runs differ from those of fast ones."""

    distance: float
    """Half the sum of the differences of shares: what part of the samples lies elsewhere."""
    p_value: float
    unseen: float
    """A smaller distance is not told from luck, at 5 %."""
    more: FloatArray
    """Share of each function, slow runs less fast ones, shape (functions,)."""
    p_values: FloatArray
    """Of each, family-wise, shape (functions,)."""


def compare_mixes(counts: FloatArray, slow: BoolArray, seed: int) -> MixTest | None:
    """Compare samples by function, shape (runs, functions), of slow and fast runs; None where one class has none."""
    total = counts.sum(axis=1)
    counts, slow, total = counts[total > 0], slow[total > 0], total[total > 0]
    if not slow.any() or slow.all():
        return None
    shares, weight = counts / total[:, None], _weights(counts, total)
    contrast = np.where(slow, weight / weight[slow].sum(), -weight / weight[~slow].sum())
    lever = weight / weight.sum()
    deviation = np.sqrt(weight / (1 - lever))[:, None] * (shares - lever @ shares)
    more, drawn = contrast @ shares, _drawn(contrast / np.sqrt(weight), deviation, np.sqrt(lever), seed)
    distance, distances = np.abs(more).sum() / 2, np.abs(drawn).sum(axis=1) / 2
    return MixTest(
        distance=float(distance),
        p_value=float(_p_values(distance, distances)),
        unseen=float(np.quantile(distances, 1 - ALPHA)) if counts.any(axis=0).sum() > 1 else 0.0,
        more=more,
        p_values=_family_wise(more, drawn, deviation),
    )


def going_with(values: FloatArray, columns: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Correlate columns, shape (runs, k), with values, shape (runs,): correlations and family-wise p-values, (k,)."""
    values, columns = values - values.mean(), columns - columns.mean(axis=0)
    found, level = values @ columns, np.full(values.size, values.size**-0.5)
    length = np.sqrt((columns**2).sum(axis=0) * (values @ values))
    correlations = np.divide(found, length, out=np.zeros_like(found), where=length > 0)
    return correlations, _family_wise(found, _drawn(values, columns, level, seed), columns)


def _weights(counts: FloatArray, total: FloatArray) -> FloatArray:
    shares = counts.sum(axis=0) / total.sum()
    there = shares > 0
    expected = total[:, None] * shares[there]
    pearson, free = float(((counts[:, there] - expected) ** 2 / expected).sum()), int(there.sum()) - 1
    over, most = pearson - (total.size - 1) * free, free * float((total - 1).sum())
    rho = min(max(over / most, 0.0), 1.0) if most else 0.0
    weights: FloatArray = total / (1 + (total - 1) * rho)
    return weights


def _drawn(contrast: FloatArray, columns: FloatArray, level: FloatArray, seed: int) -> FloatArray:
    """What permutations of a contrast, shape (runs,), make of columns, shape (PERMUTATIONS, k).

    The level, of length one, is taken out of each, as it is of the contrast.
    """
    rows = np.random.default_rng(seed).permuted(np.tile(contrast, (PERMUTATIONS, 1)), axis=1)
    rows -= np.outer(rows @ level, level)
    rows *= np.linalg.norm(contrast) / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), SMALLEST)
    drawn: FloatArray = rows @ columns
    return drawn


def _family_wise(found: FloatArray, drawn: FloatArray, columns: FloatArray) -> FloatArray:
    length = np.sqrt((columns**2).sum(axis=0))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > ROUNDING)
    return _p_values(np.abs(found) * scale, (np.abs(drawn) * scale).max(axis=1, initial=0.0))


def _p_values(found: FloatArray | np.floating, drawn: FloatArray) -> FloatArray:
    """Chance of at least as much as each number that was found, by those drawn, shape (PERMUTATIONS,)."""
    as_much = drawn >= np.asarray(found)[..., None] - ROUNDING
    shares: FloatArray = (1 + as_much.sum(axis=-1)) / (1 + drawn.size)
    return shares
