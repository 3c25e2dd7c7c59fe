"""Does the truth about a case agree with its pairs? A truth that they contradict would score a right answer wrong."""

from __future__ import annotations

from collections.abc import Iterator

from ..contest.effect import measured_ratio
from ..recorded.recorded_case import RecordedCase
from ..recorded.schema import Truth
from ..recorded.truth import why_not

HELPS_BELOW = 0.8
"""An SD ratio whose whole interval lies below it: the mitigation helps, whatever the truth says."""


def disagreements(case: RecordedCase, truth: Truth) -> tuple[str, ...]:
    """Name what the truth says of mitigations and the pairs do not, a sentence each."""
    return tuple(_disagreements(case, truth))


def _disagreements(case: RecordedCase, truth: Truth) -> Iterator[str]:
    for key in (*truth.accepted, *truth.must_not_help):
        accepted, found = key in truth.accepted, measured_ratio(case, key)
        field = "accepted" if accepted else "must_not_help"
        trial = case.recording.trials.get(key)
        if accepted and trial and trial.placebo:
            yield f"accepted: {key} was recorded as a placebo, so it may not be claimed."
        sd = next((ratio for ratio in found.ratios if ratio.statistic == "sd"), None) if found else None
        if sd is None or sd.low is None or sd.high is None:
            if not (why_not(case.recording, key) or truth.unrecorded.get(key)):
                yield f"{field}: {key} has too few pairs, and neither the recording nor the truth says why."
            continue
        words = f"{key} has an SD ratio of {sd.low:.2f} to {sd.high:.2f}"
        if accepted and sd.high >= 1:
            yield f"accepted: {words}, which does not lie below 1."
        if not accepted and sd.high < HELPS_BELOW:
            yield f"must_not_help: {words}, so it does help."
