"""Who knows the truth: the best that any contestant could answer on a case, and so the end of every scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..recorded.recorded_case import RecordedCase, ShownCase
from ..recorded.truth import MENDED, read_truth
from .answer import ContestAnswer
from .effect import best_of


@dataclass(frozen=True)
class Oracle:
    """Reads the truth, and every recorded pair."""

    cases: Sequence[RecordedCase]
    """All that it may be asked."""
    name: str = "oracle"

    def answer(self, case: ShownCase, seed: int) -> ContestAnswer:
        """Say what is right; of the accepted mitigations, the one with the least measured SD ratio."""
        whole = next(one for one in self.cases if one.ticket is case.ticket)
        truth = read_truth(whole.folder)
        known = ContestAnswer(verdict=truth.verdicts[0], causes=truth.causes, ranked=truth.causes)
        if MENDED not in truth.verdicts or not truth.accepted:
            return known
        best = best_of(whole, truth.accepted)
        return known.model_copy(
            update={"verdict": MENDED, "mitigation": best[0] if best else truth.accepted[0], "price_told": True},
        )
