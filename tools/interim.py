"""A look at the first half of the pairs: whether the other half is still needed."""

from __future__ import annotations

from collections.abc import Sequence

from .case import Case
from .row import Row
from .run_table import outcomes_of
from .statistics.comparison.compare import Comparison, Verdict, compare
from .statistics.stopping.interim import SHARE, bounds
from .subject import Frozen

LEAST_PAIRS = 40
"""At a look: fewer show no change of spread that is worth stopping for."""


class Look(Frozen):
    """What the first pairs showed."""

    pairs: int
    """Complete ones."""
    p_value: float
    """Of a difference in spread, not yet paid for the look."""
    alpha: float
    """Level at this look."""
    verdict: Verdict
    stopped: bool


def look_after(pairs: int) -> int | None:
    """Say after how many of the planned pairs to look; None when half of them are too few to tell by."""
    half = int(pairs * SHARE)
    return half if half >= LEAST_PAIRS else None


def look(rows: Sequence[Row], mitigation: str, batch: int, case: Case) -> Look | None:
    """Judge the pairs as `compare` will; None with too few complete ones.

    It depends on the rows and the limits only, so that a resumed series decides as an unbroken one.
    """
    baseline, mitigated, whole, hosts = outcomes_of(rows, "the pairs so far").paired(mitigation)
    if len(baseline) // whole < LEAST_PAIRS:
        return None
    alpha = bounds(case.limits.alpha).first
    comparison = compare(baseline, mitigated, seed=case.limits.seed, alpha=alpha, whole=whole, hosts=hosts)
    return Look(
        pairs=len(baseline) // whole,
        p_value=comparison.p_value,
        alpha=alpha,
        verdict=comparison.verdict,
        stopped=_settled(comparison, 1.0 if batch == 1 else case.limits.target_ratio),
    )


def _settled(comparison: Comparison, limit: float) -> bool:
    """Tell whether more pairs would change nothing: worse, or steadier with the whole interval of the SD below a limit.

    The confirming batch is the one that is reported, so it goes on until the target is reached.
    """
    high = comparison.ratio("sd").high
    steadier = comparison.verdict == "steadier" and high is not None and high < limit
    return steadier or comparison.verdict == "less steady"
