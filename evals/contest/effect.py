"""What a mitigation really does: measured over all of its recorded pairs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

from ...knowledge.shape import Frozen
from ...tools.claim import Arms, Claim, TooFew, claims
from ...tools.comparison import Comparison, compared
from ...tools.run_table import outcomes_of
from ..recorded.recorded_case import RecordedCase


class EffectRatios(Frozen):
    """Ratios of the mitigated runs over the baseline runs between them; None where one is undefined."""

    sd: float | None
    cv: float | None
    mean: float | None
    pairs: int = 0
    comparison: Comparison | None = None
    """With the claims of all pairs."""


@functools.cache
def measured_ratio(case: RecordedCase, mitigation: str) -> EffectRatios | None:
    """Compare the recorded pairs in which both runs count; None where fewer than two pairs or blocks do."""
    if (arms := _arms(case, mitigation)) is None:
        return None
    found = compared({"": arms}, lower_is_better=case.recording.subject.lower_is_better)[""]
    sd, cv, mean = (found.described.ratio(name).value for name in ("sd", "cv", "mean"))
    return EffectRatios(sd=sd, cv=cv, mean=mean, pairs=found.described.baseline_runs, comparison=found)


@functools.cache
def family(case: RecordedCase) -> Mapping[str, Claim | TooFew]:
    """Claim the spread of every recorded mitigation, all one family: of dozens, some look good by luck."""
    made = {key: _arms(case, key) for key in case.recording.trials}
    return claims({key: arms for key, arms in made.items() if arms})


def _arms(case: RecordedCase, mitigation: str) -> Arms | None:
    trial = case.recording.trials.get(mitigation)
    rows = case.shown.rows("pairs", mitigation) if trial and trial.pairs else ()
    if trial is None or not rows:
        return None
    paired = outcomes_of(rows, f"the pairs of {mitigation}").paired(mitigation, block=trial.block)
    if len(paired.baseline) // paired.whole < 2:
        return None
    unit: Literal["run", "block"] = "run" if trial.block == 1 else "block"
    return Arms(paired.baseline, paired.other, whole=paired.whole, unit=unit)


def best_of(case: RecordedCase, accepted: Sequence[str]) -> tuple[str, float] | None:
    """The accepted mitigation with the least measured SD ratio; None where no pairs tell.

    What is not accepted is no bound: over dozens of recorded mitigations the least ratio is one of luck.
    """
    found = {key: measured_ratio(case, key) for key in accepted}
    ratios = {key: one.sd for key, one in found.items() if one is not None and one.sd is not None}
    return min(ratios.items(), key=lambda item: item[1], default=None)
