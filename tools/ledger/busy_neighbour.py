"""Whether the time on a CPU goes with other programs on another CPU."""

from __future__ import annotations

import numpy as np

from ..statistics.association.mix import ALPHA, going_with
from ..statistics.ranks import ranks_of
from ..statistics.values import BoolArray, FiniteResult, FloatArray
from .split import SplitRuns

LITTLE = 0.05
"""Of the time on a CPU: so little more of a busy neighbour does not matter."""


class BusyNeighbour(FiniteResult):
    """Share of the time on a CPU in which other programs had another CPU."""

    same_core: bool
    """That CPU is of the same core; else it is any other one."""
    slow: float
    fast: float

    @property
    def other_cpu(self) -> str:
        """Which CPU it is."""
        return f"another CPU{' of the core' * self.same_core}"

    @property
    def words(self) -> str:
        """Say so, and what to do."""
        shares = f"{100 * self.slow:.0f} % of it in slow runs, {100 * self.fast:.0f} % in fast ones"
        shared = f"cache, memory or clock{' or core' * self.same_core}"
        return (
            f"The time goes with other programs on {self.other_cpu} meanwhile ({shares}): shared {shared}, unproved: "
            "stop them, or keep them off."
        )


def busy_neighbour(split: SplitRuns, slow: BoolArray, whole: FloatArray, seed: int) -> BusyNeighbour | None:
    """Look at the time on a CPU, `whole`, shape (runs,); None where it does not surely go with a neighbour."""
    beside = np.array([run.beside_ms for run in split.opened])
    share = np.divide(beside, whole, out=np.zeros_like(whole), where=whole > 0)
    (found,), (p_value,) = going_with(ranks_of(whole), ranks_of(share)[:, None], seed)
    slow_share, fast_share = float(share[slow].mean()), float(share[~slow].mean())
    if found <= 0 or p_value > ALPHA or slow_share - fast_share < LITTLE:
        return None
    same = all(run.same_core for run in split.opened)
    return BusyNeighbour(same_core=same, slow=slow_share, fast=fast_share)
