"""What a mitigation did to the columns that it should lower: level 3 of the proof, and how much it is."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np

from ..knowledge.shape import Frozen
from .apply_mitigation import ApplyResult, telling
from .base import ToolError
from .case import Case
from .claim import Arms, Claim, TooFew, claims
from .run_table import RunTable

LEAST = 0.95
"""A mean that is at least this share of the baseline's has not moved by an amount that proves anything."""
ENOUGH = f"falls by {100 * (1 - LEAST):.0f} %"
"""What is expected of such a column."""


class Moved(Frozen):
    """What the mitigation did to a column that it should lower, or that goes with slow runs (level 3 of the proof)."""

    column: str
    unit: str
    baseline: float
    """Mean over the baseline runs of the pairs; the mean, because a rare cause leaves the median alone."""
    mitigated: float
    claim: Claim | TooFew
    """Of the mean, pair by pair, in the family of all these columns."""

    @property
    def fell(self) -> bool:
        """The whole interval of the ratio lies below `LEAST`."""
        return isinstance(self.claim, Claim) and self.claim.high is not None and self.claim.high < LEAST

    @property
    def words(self) -> str:
        """Say whether it fell, and by how much."""
        if isinstance(self.claim, TooFew):
            return f"cannot be told to have fallen: {self.claim.why}"
        if self.claim.direction != "less":
            return "is not shown to fall"
        enough = "" if self.fell else f", which is not shown to be {100 * (1 - LEAST):.0f} % or more"
        return f"fell by {_share(self.claim)}{enough}"


def moved(table: RunTable, applied: ApplyResult, case: Case) -> tuple[Moved, ...]:
    """See what fell of what the mitigation should lower, and of the columns that were found to go with slow runs."""
    known = case.knowledge.mitigations
    if applied.mitigation not in known:
        raise ToolError(
            f"{applied.mitigation} is not known here; read the run with the knowledge that it was made with."
        )
    units, arms = {column.name: column.unit for column in table.columns}, {}
    for name in _numbers(table, telling(known[applied.mitigation], case)):
        pairs = table.paired(applied.mitigation, block=applied.block, values=name)
        if pairs.baseline.size:
            arms[name] = Arms(pairs.baseline, pairs.other, whole=pairs.whole)
    found = claims(arms, "mean", alpha=case.limits.alpha, seed=case.limits.seed)
    return tuple(
        Moved(
            column=name,
            unit=units[name],
            baseline=float(np.mean(arms[name].baseline)),
            mitigated=float(np.mean(arms[name].other)),
            claim=one,
        )
        for name, one in found.items()
    )


def _numbers(table: RunTable, patterns: tuple[str, ...]) -> list[str]:
    """Columns of numbers that a pattern stands for, each once, in the order of the patterns."""
    names = sorted(column.name for column in table.columns if column.type == "number")
    return list(dict.fromkeys(name for pattern in patterns for name in names if fnmatchcase(name, pattern)))


def _share(claim: Claim) -> str:
    """How much of the baseline's mean is gone, with its interval: `42 % [35 %, 49 %]`."""
    gone = [f"{100 * (1 - ratio):.3g} %" for ratio in (claim.ratio, claim.high, claim.low) if ratio is not None]
    return f"{gone[0]} [{gone[1]}, {gone[2]}]"
