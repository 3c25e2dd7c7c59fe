"""What the rule policy has to reach, and the sentences that say where it does not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from .kinds import KINDS
from .results import Results
from .summary import Summed, by_case, cases_by, summarise

LIVE_SD_RATIO = 0.374
"""Geometric mean of the SD ratios that the paper reports; it is required of live runs."""


class Required(NamedTuple):
    """One number."""

    score: str
    bound: float
    words: str


REQUIRED = (
    Required("verdict", 0.90, "verdict right"),
    Required("cause@1", 0.90, "cause@1: a true cause, or one that moves with it, named first"),
    Required("false_alarm", 0.05, "false alarms on controls"),
    Required("regret", 1.1, "median regret"),
    Required("replay", 1.0, "answered again in the same way"),
    Required("untold_cost", 0.0, "mean more than 5 % worse without a word"),
)

ALWAYS = ("verdict", "cause@1", "false_alarm", "regret")
"""Without a case that tells these, nothing is shown; whoever claims no mitigation has no cost to tell."""


def bound_of(score: str) -> float:
    """What is required of a score."""
    return next(required.bound for required in REQUIRED if required.score == score)


def missed(results: Results, contestant: str) -> Iterator[str]:
    """Say what is missed, a sentence each, with the cases that miss it; the splits are judged apart."""
    for case in results.broken:
        yield f"The case {case.key} is not sound: {case.reason}"
    told = set(summarise(results, contestant).scores)
    for required in REQUIRED:
        if required.score in ALWAYS and required.score not in told:
            yield f"{contestant}: no case of this choice tells {required.words}; choose more cases."
    for split, cases in cases_by(results, "split").items():
        scores = summarise(results, contestant, cases).scores
        for required in REQUIRED:
            found = scores.get(required.score)
            if found is not None and not reached(required, found):
                guilty = ", ".join(_guilty(results, contestant, required, cases))
                yield f"{contestant}, {split}: {_said(required, found)}; see {guilty}."


def reached(required: Required, found: Summed) -> bool:
    """Tell whether a number is as it has to be."""
    # Means of means over seeds: a share that is 0.9 on paper may be a rounding error below it.
    slack = 1e-9
    more = KINDS[required.score].more_is_better
    return found.value >= required.bound - slack if more else found.value <= required.bound + slack


def _said(required: Required, found: Summed) -> str:
    kind = KINDS[required.score]
    share = f"{100 * found.value:.3g} % of" if kind.way == "rate" else f"{found.value:.3g} over"
    return f"{required.words}: {share} {found.n} cases, {bound_words(required)} is required"


def bound_words(required: Required) -> str:
    """Write the bound: `at least 90 %`."""
    kind = KINDS[required.score]
    bound = f"{100 * required.bound:g} %" if kind.way == "rate" else f"{required.bound:g}"
    return f"{'at least' if kind.more_is_better else 'at most'} {bound}"


def _guilty(results: Results, contestant: str, required: Required, cases: Collection[str]) -> Iterator[str]:
    mine = [row for row in results.rows if row.contestant == contestant and row.case in cases]
    for case, value in by_case(mine, required.score).items():
        good = 1.0 if KINDS[required.score].more_is_better else required.bound
        if (value < good) if KINDS[required.score].more_is_better else (value > good):
            yield case
