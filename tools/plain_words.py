"""The verdict in plain words: how long runs take, what slow ones have more of, and what stops that.

No ratio and no p-value; of a mitigation its key, since that is what is typed. `verdict_words` has the numbers.
"""

from __future__ import annotations

from typing import assert_never

from . import verdict as v
from .amount import between
from .case import Case
from .verdict_words import headline, within

MOST = 0.5
"""Of the variance: what stays unexplained is said where it is more."""
Percentiles = tuple[float, float]
"""Between which nine runs in ten lie: the 5th and the 95th percentile."""


def plain_words(verdict: v.Verdict, case: Case) -> str:
    """Say the verdict in at most three sentences."""
    match verdict:
        case v.Diagnosis(cause=cause, remedy=remedy):
            return " ".join(filter(None, (_runs(verdict, case), _cause(cause), _remedy(remedy, case))))
        case v.Steady():
            return f"{_runs(verdict, case)} They vary too little to be worth a remedy."
        case v.Unusable():
            return headline(verdict)
        case _:
            assert_never(verdict)


def _runs(verdict: v.Verdict, case: Case) -> str:
    """How long runs take: of the pairs that prove a remedy, so that both are of one time, else of the baseline."""
    proof, measured = v.helpful(verdict), case.findings.measured
    if proof and (known := _arms(proof, case)):
        return f"Nine runs in ten {_take(*known[0], case)}."
    if measured is None:
        return ""
    one = "runs" if case.subject.per_iteration is None else "samples"
    return f"Nine {one} in ten {_take(measured.outcome.p5, measured.outcome.p95, case)}."


def _take(low: float, high: float, case: Case) -> str:
    verb = "take" if case.subject.lower_is_better and case.subject.unit in ("s", "ms", "us", "ns") else "give"
    return f"{verb} {between(low, high, case.subject.unit)}"


def _arms(proof: v.Confirmed | v.Observed, case: Case) -> tuple[Percentiles, Percentiles] | None:
    """Of the comparison that proves a remedy, without it and with it; None where it does not tell."""
    found = (one.compared for one in case.findings.batches if one.comparing == proof.comparison)
    known = {one.statistic: one for compared in found if compared for one in compared.comparison.described.ratios}
    high, width = known.get("p95"), known.get("p95-p05")
    if not (high and width):
        return None
    without, with_it = _range(high.baseline, width.baseline), _range(high.other, width.other)
    return (without, with_it) if without and with_it else None


def _range(high: float | None, width: float | None) -> Percentiles | None:
    return None if high is None or width is None else (high - width, high)


def _cause(cause: v.Cause) -> str:
    match cause:
        case v.Explained(parts=(first, *_), rest=rest):
            left = (
                f" {rest.gap_ms:.3g} ms more stay unexplained."
                if rest and rest.share > MOST and rest.gap_ms > 0
                else ""
            )
            return f"{_first_part(first)}{left}"
        case v.NotVisible(held=(first, *_)):
            return f"Slow ones {_spend(first)}."
        case v.NotVisible(slight=slight) if slight:
            why = "slow ones have less of it" if cause.less else "it goes with slow ones by too little to matter"
            return f"Of all that was counted, {within(slight.name)} stands out, but {why}."
        case v.NotVisible():
            return "Nothing that was counted goes with slow ones."
        case v.NotSought() | v.Explained():
            return ""
        case _:
            assert_never(cause)


def _first_part(part: v.Found | v.Located | v.Placed) -> str:
    if isinstance(part, v.Placed):
        return f"Slow ones are slow because of {part.name}: {part.why}."
    if isinstance(part, v.Located):
        return f"Slow ones {_spend(part)}."
    if part.column is None:
        return f"No counter shows why; {within(part.name)} was found by trying."
    beside = f", and {_spend(part.held[0])}" if part.held else ""
    return f"Slow ones go with {within(part.name)}{beside}."


def _spend(part: v.Located) -> str:
    known = f" ({within(part.recognised.name)})" if part.recognised else ""
    return f"spend {part.gap_ms:.3g} ms more {part.name}{known}"


def _remedy(remedy: v.Remedy, case: Case) -> str:
    match remedy:
        case v.Confirmed() | v.Observed():
            known = _arms(remedy, case)
            return (
                f"With `{remedy.mitigation}` they {_take(*known[1], case)}."
                if known
                else f"`{remedy.mitigation}` helps."
            )
        case v.Refuted(trials=(only,)):
            return f"`{only.mitigation}` does not help."
        case v.Refuted(trials=trials):
            return f"None of the {len(trials)} remedies that were tried helps."
        case v.Undecided():
            return "No remedy is proved yet."
        case v.NotTried():
            return "No remedy was tried."
        case _:
            assert_never(remedy)
