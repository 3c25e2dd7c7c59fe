"""Which runs a resample takes: pairs together or each arm on its own, single runs or blocks of neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ..values import FloatArray, IntArray
from .weighted import CHUNK, Counted, Counts, Key, statistics

MOST_DRAWS = 40_000_000
"""Runs drawn in all for one arm; arms beyond 20,000 runs get fewer resamples."""
LEAST_RESAMPLES = 200
SHARES = tuple(k / 20 for k in range(1, 20))
"""The quantiles whose shift is told: p5, p10, ..., p95."""

Rows = Mapping[Key, FloatArray]


@dataclass(frozen=True)
class SortedArm:
    """One arm: its runs in run order and where each stands when sorted."""

    values: FloatArray
    order: IntArray
    ascending: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> SortedArm:
        """Sort once."""
        order = np.argsort(values, kind="stable")
        return cls(values, order, values[order])

    def resampled(self, counts: Counts, lower_is_better: bool) -> Rows:
        """Every statistic by name, and the quantiles of `SHARES` by share, of each row of counts in run order."""
        counts = counts[:, self.order]
        arm = Counted(self.ascending, np.cumsum(counts, axis=None, dtype=np.int32))
        return statistics(arm, counts, lower_is_better) | {share: arm.quantile(share) for share in SHARES}


def affordable(n: int, resamples: int) -> int:
    """Lessen the resamples of very long arms."""
    return min(resamples, max(LEAST_RESAMPLES, MOST_DRAWS // n))


def draw(rng: Generator, n: int, rows: int, block: int, whole: int = 1) -> Counts:
    """Draw with replacement: counts of each run, in run order, shape (rows, n).

    Blocks are circular (Politis and Romano 1992), so that every run is taken equally often; they start where a group
    of `whole` values does, which divides both n and the block.
    """
    if block == 1:
        index = rng.integers(n, size=(rows, n), dtype=np.int32).astype(np.int64)
    else:
        starts = whole * rng.integers(n // whole, size=(rows, -(-n // block), 1))
        index = ((starts + np.arange(block)) % n).reshape(rows, -1)[:, :n]
    index += n * np.arange(rows)[:, None]
    return np.bincount(index.ravel(), minlength=rows * n).astype(np.int32).reshape(rows, n)


def chunks(n: int, rows: int) -> list[int]:
    """Split rows of n values into chunks that fit the cache."""
    step = max(1, CHUNK // n)
    return [min(step, rows - start) for start in range(0, rows, step)]
