"""How much of the budget is used: seconds since the command began, over all processes that worked on the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..tools.execution.expected import Deadline


@dataclass
class BudgetClock:
    """Counts the budget of one command; what a person takes to answer is not the command's."""

    began_s: float = field(default_factory=time.monotonic)
    """On the monotonic clock."""
    before_s: float = 0.0
    """Of earlier processes."""
    now_s: Callable[[], float] = time.monotonic
    _waited_s: float = 0.0

    def elapsed_s(self) -> float:
        """Seconds so far."""
        return self.before_s + self.now_s() - self.began_s - self._waited_s

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Stand still while a person is asked."""
        asked_s = self.now_s()
        try:
            yield
        finally:
            self._waited_s += self.now_s() - asked_s

    def deadline(self, budget_s: float, kept_s: float = 0.0) -> Deadline:
        """When measuring has to end, so much of the budget kept for what comes after it, or half of a tiny one."""
        return Deadline(budget_s, self.elapsed_s, min(kept_s, budget_s / 2))
