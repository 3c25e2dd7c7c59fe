"""Analysis of variance of replicated runs: means tested against the scatter within cells, and a test of the spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..values import FloatArray

FEWEST = 3
"""Runs of a cell that say something about its spread by deviations from a median."""


class CellReplicates(NamedTuple):
    """Runs summed up by cell: all that the analysis needs of them."""

    means: FloatArray
    """Shape (cells,)."""
    runs: FloatArray
    """Shape (cells,): runs in each cell."""
    squares: float
    """Within the cells: the pure error."""

    @property
    def left(self) -> int:
        """Degrees of freedom of the pure error."""
        return int(self.runs.sum()) - len(self.runs)


def replicates(runs: Sequence[FloatArray]) -> CellReplicates:
    """Sum up the runs of each cell."""
    means = np.array([one.mean() for one in runs])
    squares = sum(float(((one - mean) ** 2).sum()) for one, mean in zip(runs, means, strict=True))
    return CellReplicates(means, np.array([float(len(one)) for one in runs]), squares)


def deviations(runs: FloatArray, relative: bool = False) -> FloatArray:
    """Give the absolute deviations from the median of a cell (Brown and Forsythe, JASA 69, 1974), for its spread.

    Times sqrt(n / (n - 1)), so that cells of few runs do not look steady (Keyes and Levin, JASA 92, 1997). Relative: in
    parts of the mean of the cell, as a CV is. Raises ZeroDivisionError where that mean is 0.
    """
    apart: FloatArray = np.abs(runs - np.median(runs)) * np.sqrt(len(runs) / (len(runs) - 1))
    if not relative:
        return apart
    mean = abs(float(runs.mean()))
    if not mean:
        raise ZeroDivisionError("the mean of a cell is 0")
    return apart / mean
