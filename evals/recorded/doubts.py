"""All that makes a truth doubtful: what its pairs contradict, and what they prove of which it says nothing.

Only a mitigation that helps by both measures is named here. One run far off can leave the interval of the SD ratio
below any bound, as it did for fixed_layout and sched_rr where nothing varies (`steady`).
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ...tools.row import BASELINE
from ...tools.statistics.comparison.bootstrap import Ratio
from ..contest.effect import measured_ratio
from ..scores.agreement import HELPS_BELOW, disagreements, helps
from .recorded_case import TRIAL, RecordedCase
from .schema import SERIES, Truth

BULK = "p95-p05"
"""The spread without the tails."""


def doubts(case: RecordedCase, truth: Truth) -> tuple[str, ...]:
    """Name what the pairs contradict and what they prove besides, a sentence each."""
    return (*disagreements(case, truth), *_unsaid(case, truth))


def proved(case: RecordedCase, mitigation: str) -> Ratio | None:
    """Give the SD ratio of a mitigation that surely helps: `helps` of the agreement, with and without the tails."""
    measured = measured_ratio(case, mitigation) if helps(case, mitigation) else None
    if measured is None:
        return None
    sd, bulk = (next(ratio for ratio in measured.ratios if ratio.statistic == name) for name in ("sd", BULK))
    return sd if bulk.high is not None and bulk.high < 1 else None


def _unsaid(case: RecordedCase, truth: Truth) -> Iterator[str]:
    named = {*truth.accepted, *truth.must_not_help, *truth.unproved}
    for key in _promising(case):
        trial = case.recording.trials.get(key)
        if key in named or trial is None or trial.placebo or (sd := proved(case, key)) is None:
            continue
        words = f"{key} is neither accepted nor in must_not_help, and it helps: its SD ratio is {sd.value:.2f}"
        cure = "accept it, or say why not, in must_not_help and unproved"
        if truth.control:
            cure = "where that is no chance, this is no control; else say so, in must_not_help and unproved"
        yield f"{words} ({sd.low:.2f} to {sd.high:.2f}): {cure}."


def _promising(case: RecordedCase) -> list[str]:
    """Name those whose SD is lower than what is sought, without the cost of an interval."""
    pairs = case.table.filter((pl.col(SERIES) == "pairs") & (pl.col("ok") == 1))
    base = pl.col("condition") == BASELINE
    found = pairs.group_by(TRIAL, maintain_order=True).agg(
        pl.col("outcome").filter(~base).std().alias("other"), pl.col("outcome").filter(base).std().alias("base")
    )
    return sorted(found.filter(pl.col("other") < HELPS_BELOW * pl.col("base"))[TRIAL].to_list())
