"""Does the truth about a case agree with its pairs? A truth that they contradict would score a right answer wrong."""

from __future__ import annotations

from collections.abc import Iterator

from ...tools.statistics.comparison.bootstrap import Ratio
from ..contest.effect import measured_ratio
from ..recorded.recorded_case import RecordedCase
from ..recorded.schema import Truth
from ..recorded.truth import NOT_IN_FORCE, REFUSED, why_not

HELPS_BELOW = 0.8
"""An SD ratio whose whole interval lies below it: the mitigation helps, whatever the truth says."""
SPREADS = ("sd", "p95-p05")
"""A cure has the interval of one of them below 1: a single slow run can leave that of the SD without an upper end."""


def disagreements(case: RecordedCase, truth: Truth) -> tuple[str, ...]:
    """Name what the truth says of mitigations and the pairs do not, a sentence each."""
    named = (*truth.accepted, *truth.must_not_help)
    return tuple(doubt for key in named if key not in truth.unproved for doubt in _doubts(case, key, truth))


def filled(truth: Truth, case: RecordedCase) -> Truth:
    """Add what the recording tells: why something was not measured, and of a control all that may not be claimed."""
    measured = [key for key, trial in case.recording.trials.items() if trial.pairs]
    idle = [key for key in measured if not helps(case, key)] if truth.control else []
    may_not = tuple(dict.fromkeys((*truth.must_not_help, *idle)))
    said = {key: why for key, why in truth.unproved.items() if not why.startswith((REFUSED, NOT_IN_FORCE))}
    named = dict.fromkeys((*truth.accepted, *may_not))
    why = {key: reason for key in named if key not in measured and (reason := why_not(case.recording, key))}
    return truth.model_copy(update={"must_not_help": may_not, "unproved": said | why})


def helps(case: RecordedCase, mitigation: str) -> bool:
    """Whether all of its pairs show a smaller standard deviation than may be chance."""
    sd = _interval(case, mitigation, "sd")
    return sd is not None and sd.high is not None and sd.high < HELPS_BELOW


def _doubts(case: RecordedCase, key: str, truth: Truth) -> Iterator[str]:
    trial, sd = case.recording.trials.get(key), _interval(case, key, "sd")
    if key in truth.accepted and trial and trial.placebo:
        yield f"accepted: {key} was recorded as a placebo, so it may not be claimed."
    if sd is None:
        if not why_not(case.recording, key):
            yield f"{key} has no pairs, and neither the recording nor `unproved` says why."
        return
    words = f"{key} has an SD ratio of {_shown(sd)}"
    if key in truth.accepted:
        spreads = (_interval(case, key, name) for name in SPREADS)
        if not any(spread and spread.high is not None and spread.high < 1 for spread in spreads):
            yield f"accepted: {words}, and no spread that surely falls."
    elif helps(case, key):
        yield f"must_not_help: {words}, so it does help."


def _interval(case: RecordedCase, mitigation: str, statistic: str) -> Ratio | None:
    found = measured_ratio(case, mitigation)
    return next((ratio for ratio in found.ratios if ratio.statistic == statistic), None) if found else None


def _shown(ratio: Ratio) -> str:
    known = ratio.low is not None and ratio.high is not None
    return f"{ratio.low:.2f} to {ratio.high:.2f}" if known else "unknown precision"
