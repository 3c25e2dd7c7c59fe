"""Until when measuring may go on: what is left of the budget by the clock, less what has to be kept for the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...knowledge.errors import VgoError

LEAST_S = 0.05
"""A run that is begun gets so much, whatever is left."""


def _no_clock() -> float:
    return 0.0


@dataclass(frozen=True)
class Deadline:
    """A budget in seconds and the clock that counts them."""

    budget_s: float = math.inf
    elapsed_s: Callable[[], float] = _no_clock
    """Seconds of the budget that are used."""
    kept_s: float = 0.0
    """Of the budget, for what comes after measuring."""

    @property
    def counts(self) -> bool:
        """Whether a clock runs: over recorded or simulated runs there is none, and the program's seconds count."""
        return math.isfinite(self.budget_s)

    @property
    def left_s(self) -> float:
        """Seconds that are left for measuring."""
        return self.budget_s - self.kept_s - self.elapsed_s()

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left_s <= 0

    def limit_s(self, own_s: float | None) -> float | None:
        """When a run that begins now is ended: at its own limit, or when nothing is left."""
        if not self.counts:
            return own_s
        left_s = max(self.left_s, LEAST_S)
        return left_s if own_s is None else min(own_s, left_s)

    def no_run(self, cut: bool) -> VgoError:
        """Say why there is not one run; `cut`: one was begun and did not end in time."""
        budget = f"the budget of {self.budget_s:g} s"
        if cut:
            return VgoError(f"One run takes longer than {budget}: raise --budget, or give a shorter command.")
        return VgoError(f"The start took {budget}, and nothing was left for a run: raise --budget.")


NEVER = Deadline()
