"""Where the level of a series shifts: least squares on ranks, with a penalty that independent runs seldom pay."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..values import FiniteResult, FloatArray, ranks_of

MOST_BLOCKS = 2000
"""Longer series are averaged in blocks: the search takes quadratic time, 0.02 s for this many means."""
LEAST_RUNS = 10
LEAST_SEGMENT = 3
PENALTY = 6.0
"""Penalty = this + log(length), in units of the variance of a rank: of samples of 20 to 2000 independent runs,
at most 2 in 100 show a change point (200 to 600 samples each)."""
LEAST_JUMP = 0.5
"""In standard deviations of a rank: smaller shifts are plain in a million runs, and matter to nobody."""
MOST_SHOWN = 20
CALM_SHARE = 0.95
"""Of squared steps, the largest are left out: they are the shifts and not the noise."""
MOST_RHO = 0.95


class ChangePoint(FiniteResult):
    """One shift of the level."""

    run: int
    """Index of the first run after it, from 0, in the order given."""
    before: float
    """Median from the shift before it (or the start) to it."""
    after: float
    """Median from it to the next shift (or the end)."""


def shifts(series: ArrayLike) -> list[int]:
    """Find the places of the first run after each shift of the level, in ascending order.

    On ranks: invariant to the unit, and no wild run can be a level. Where neighbours resemble each other, the penalty
    grows by (1 + r) / (1 - r).
    """
    x = np.asarray(series, dtype=np.float64)
    if x.size < LEAST_RUNS or x.min() == x.max():
        return []
    # As if there were no ties: with many, ranks vary less, and the test only gets stricter.
    ranks = ranks_of(x) / 2 / math.sqrt((x.size**2 - 1) / 12)
    block = -(-x.size // MOST_BLOCKS)
    means = _block_means(ranks, block)
    r, noise = _noise(means)
    # In blocks the spread of the mean is read off the series itself: dependence between neighbours widens it.
    variance = 1.0 if block == 1 else max(noise, 1 / block)
    penalty = (PENALTY + math.log(means.size)) * variance * (1 + r) / (1 - r)
    return [block * place for place in _noticeable(means, segmented(means, penalty))]


def segmented(means: FloatArray, penalty: float) -> list[int]:
    """Find the starts of all segments but the first, of those with the least squared error and penalties.

    Optimal partitioning (Jackson et al. 2005): the best up to an end is the best up to a start and one segment more,
    which takes its squared sum over its length off the sum of squares. Exact, as PELT is, and a step of it is numpy's.
    """
    count = means.size
    sums, lengths = np.concatenate(([0.0], np.cumsum(means))), np.arange(count, 0, -1)
    least, starts = np.full(count + 1, math.inf), np.zeros(count + 1, dtype=np.intp)
    least[0] = -penalty
    for end in range(LEAST_SEGMENT, count + 1):
        before = end - LEAST_SEGMENT + 1
        taken = (sums[end] - sums[:before]) ** 2 / lengths[count - end :][:before]
        totals = least[:before] - taken
        starts[end] = totals.argmin()
        least[end] = totals[starts[end]] + penalty
    places = [int(starts[-1])]
    while places[-1]:
        places.append(int(starts[places[-1]]))
    return places[-2::-1]


def change_points(series: FloatArray, places: list[int]) -> tuple[ChangePoint, ...]:
    """Give the levels around each place; of more than 20, those with the greatest jumps."""
    if not places:
        return ()
    levels = [float(np.median(part)) for part in np.split(series, places)]
    jumps = np.abs(np.diff(levels))
    kept = np.sort(np.argsort(-jumps, kind="stable")[:MOST_SHOWN])
    return tuple(ChangePoint(run=places[i], before=levels[i], after=levels[i + 1]) for i in kept.tolist())


def _block_means(ranks: FloatArray, block: int) -> FloatArray:
    whole = ranks.size // block * block
    means: FloatArray = ranks[:whole].reshape(-1, block).mean(axis=1)
    return means


def _noise(means: FloatArray) -> tuple[float, float]:
    """Autocorrelation and variance of a first-order autoregression, from steps over one and over two places.

    A step over k places has variance 2 v (1 - r^k), so two over one is 1 + r; shifts of the level hardly touch it.
    """
    one, two = _calm(np.diff(means)), _calm(means[2:] - means[:-2])
    r = two / one - 1 if one > 0 else 0.0
    r = min(r, MOST_RHO) if r > 1.645 / math.sqrt(means.size) else 0.0
    return r, one / 2 / (1 - r)


def _calm(steps: FloatArray) -> float:
    squares = np.sort(steps**2)
    return float(squares[: max(1, int(CALM_SHARE * squares.size))].mean())


def _noticeable(means: FloatArray, places: list[int]) -> list[int]:
    """Drop the smallest jump until all that remain are large enough."""
    kept = list(places)
    while kept:
        jumps = np.abs(np.diff([part.mean() for part in np.split(means, kept)]))
        if jumps.min() >= LEAST_JUMP:
            break
        kept.pop(int(jumps.argmin()))
    return kept
