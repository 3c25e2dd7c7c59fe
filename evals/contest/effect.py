"""What a mitigation really does: measured over all of its recorded pairs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...tools.claim import Arms
from ...tools.comparison import Comparison, compared
from ...tools.run_table import RunTable
from ...tools.subject import Frozen
from ..recorded.recorded_case import RecordedCase


class Measured(Frozen):
    """Ratios of the mitigated runs over the baseline runs between them; None where one is undefined."""

    sd: float | None
    cv: float | None
    mean: float | None
    pairs: int = 0
    comparison: Comparison | None = None
    """With the claims of all pairs."""


def measured_ratio(case: RecordedCase, mitigation: str) -> Measured | None:
    """Compare the recorded pairs in which both runs count; None where fewer than two pairs or blocks do."""
    trial = case.recording.trials.get(mitigation)
    rows = case.rows("pairs", mitigation) if trial and trial.pairs else ()
    if trial is None or not rows:
        return None
    paired = RunTable(pd.DataFrame(list(rows)), ()).paired(mitigation, block=trial.block)
    if len(paired.baseline) // paired.whole < 2:
        return None
    lower = case.recording.subject.lower_is_better
    return _compared(paired.baseline.tobytes(), paired.other.tobytes(), paired.whole, trial.block, lower)


def best_of(case: RecordedCase, accepted: Sequence[str]) -> tuple[str, float] | None:
    """The accepted mitigation with the least measured SD ratio; None where no pairs tell.

    What is not accepted is no bound: over dozens of recorded mitigations the least ratio is one of luck.
    """
    found = {key: measured_ratio(case, key) for key in accepted}
    ratios = {key: one.sd for key, one in found.items() if one is not None and one.sd is not None}
    return min(ratios.items(), key=lambda item: item[1], default=None)


@functools.cache
def _compared(baseline: bytes, other: bytes, whole: int, block: int, lower_is_better: bool) -> Measured:
    """Compare outcomes given as bytes of float64, so that the same ones are compared once."""
    before, after = np.frombuffer(baseline), np.frombuffer(other)
    arms = Arms(before, after, whole=whole, unit="run" if block == 1 else "block")
    found = compared({"": arms}, lower_is_better=lower_is_better)[""]
    sd, cv, mean = (found.described.ratio(name).value for name in ("sd", "cv", "mean"))
    return Measured(sd=sd, cv=cv, mean=mean, pairs=found.described.baseline_runs, comparison=found)
