"""All that makes a truth doubtful: what its pairs contradict, and what they prove of which it says nothing."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ...tools.claim_words import interval
from ...tools.row import BASELINE
from ..scores.agreement import HELPS_BELOW, disagreements, helping
from .recorded_case import TRIAL, RecordedCase
from .schema import SERIES, Truth


def doubts(case: RecordedCase, truth: Truth) -> tuple[str, ...]:
    """Name what the pairs contradict and what they prove besides, a sentence each."""
    return (*disagreements(case, truth), *_unsaid(case, truth))


def _unsaid(case: RecordedCase, truth: Truth) -> Iterator[str]:
    named = {*truth.accepted, *truth.must_not_help, *truth.unproved}
    helped = helping(case)
    for key in _promising(case):
        trial = case.recording.trials.get(key)
        if key in named or trial is None or trial.placebo or key not in helped:
            continue
        shown = interval(helped[key])
        words = f"{key} is neither accepted nor in must_not_help, and it helps: its spread ratio is {shown}"
        cure = "accept it, or say why not, in must_not_help and unproved"
        if truth.control:
            cure = "where that is no chance, this is no control; else say so, in must_not_help and unproved"
        yield f"{words}: {cure}."


def _promising(case: RecordedCase) -> list[str]:
    """Name those whose SD is lower than what is sought, without the cost of an interval."""
    pairs = case.table.filter((pl.col(SERIES) == "pairs") & (pl.col("ok") == 1))
    base = pl.col("condition") == BASELINE
    found = pairs.group_by(TRIAL, maintain_order=True).agg(
        pl.col("outcome").filter(~base).std().alias("other"), pl.col("outcome").filter(base).std().alias("base")
    )
    return sorted(found.filter(pl.col("other") < HELPS_BELOW * pl.col("base"))[TRIAL].to_list())
