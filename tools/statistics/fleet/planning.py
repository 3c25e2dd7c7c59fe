"""How many runs on each node it takes to name a slow one."""

from __future__ import annotations

import numpy as np

from .odd import odd


def named_share(
    *, nodes: int, runs: int, slow_by: float, within: float, between: float, margin: float, fleets: int, seed: int = 1
) -> tuple[float, float]:
    """Simulate fleets with one slow node: share in which it is named, and in which another one is.

    `slow_by`, `within` (SD of runs), `between` (SD of ordinary nodes) and `margin` are shares: 0.05 is 5 %.
    """
    rng = np.random.default_rng(seed)
    named = wrong = 0
    sizes = np.full(nodes, runs)
    for _ in range(fleets):
        level = rng.normal(0, np.log1p(between), nodes)
        level[0] += np.log1p(slow_by)
        error = np.log1p(within) * np.sqrt(rng.chisquare(runs - 1, nodes) / (runs - 1) / runs)
        found = odd(
            level + rng.normal(0, np.log1p(within) / np.sqrt(runs), nodes), error, sizes, margin=np.log1p(margin)
        ).odd
        named += bool(found[0])
        wrong += bool(found[1:].any())
    return named / fleets, wrong / fleets
