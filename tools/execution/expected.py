"""Until when measuring may go on, how long a changed run may take, and how a change is screened before its pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..mitigation.verification import Check, Starts
from .launch import Launch, OnStarted, Run

TIMES, MORE_S = 5.0, 1.0
"""A run under anything changed ends after so many times the longest baseline run, and so many seconds more."""
BEARABLE = 3.0
"""Times the longest baseline run, beyond which a condition is not worth pairs."""
FIRST_RUNS = 3
"""A program that fails in all of so many first runs is refused at once."""
SURE = 0.0006
"""Level of each look at whether a condition fails more often than the baseline: many conditions, after every run."""
SURE_AT_ONCE = 0.002
"""Level of the one look, before any pair, at a condition under which all runs that were looked at failed."""
RATES = 200
"""Rates of failing among which the worst is looked for."""
MOST_SCREENED = 3
"""Runs of a new condition that are looked at before its first pair; one is enough where it ends well and in time."""
LEAST_S = 0.05
"""A run that is begun gets so much, whatever is left."""
LEAST_SLOW = 2
"""A single slow run may be bad luck."""


class Expected(Frozen):
    """Runs of the program as it is given; without any of them nothing is known."""

    longest_s: float = 0.0
    """Of those that ended by themselves."""
    runs: int = 0
    failed: int = 0
    """Of these runs."""

    def limit_s(self, times: float = 1.0) -> float | None:
        """When a changed run is ended; `times` more where what watches it is known to be so dear."""
        return TIMES * times * self.longest_s + MORE_S if self.longest_s else None

    def fails_more(self, runs: int, failed: int) -> bool:
        """Tell whether so many failures in so many runs are more than the baseline's by more than luck.

        Asked after every run of every change. With `benchmarks/false_refutals.py` (1,000 diagnoses each, twelve changes
        that do nothing, screened and then in 30 pairs, baselines of 20, 60 and 200 runs, programs that fail in .02 to
        .3 of their runs), any of them was refuted in at most .046 of the diagnoses (standard error .007). A change that
        always fails is told after 2 or 3 runs where the baseline never does.
        """
        return failed > 0 and self.chance(runs, failed) <= SURE

    def fails_at_once(self, runs: int) -> bool:
        """Tell whether so many runs, all failed, are enough to refute a condition before its pairs; asked once."""
        return runs == MOST_SCREENED and (not self.runs or self._unlucky(runs) <= SURE_AT_ONCE)

    def chance(self, runs: int, failed: int) -> float:
        """Give the chance of as many failures among these runs, were they of one program with the others.

        Fisher's exact test, one-sided.
        """
        from scipy.stats import hypergeom  # half a second, which who watches no failing run can spare

        return float(hypergeom.sf(failed - 1, self.runs + runs, self.failed + failed, runs))

    def _unlucky(self, runs: int) -> float:
        """Give the chance that so many runs all fail after a baseline that fails so little, at the worst rate for it.

        Of a small baseline that is much less than `chance`, which holds the sum of failures for given.
        """
        import numpy as np
        from scipy.stats import binom

        rates = np.arange(1, RATES) / RATES
        return float((rates**runs * binom.cdf(self.failed, self.runs, rates)).max())

    def and_also(self, other: Expected) -> Expected:
        """Take further runs of the baseline in."""
        return Expected(
            longest_s=max(self.longest_s, other.longest_s),
            runs=self.runs + other.runs,
            failed=self.failed + other.failed,
        )


@dataclass(frozen=True)
class Deadline:
    """A budget in seconds and the clock that counts them."""

    budget_s: float = math.inf
    elapsed_s: Callable[[], float] = lambda: 0.0
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


class Proof(NamedTuple):
    """Whether a change is in force, and whether the program bears it."""

    checks: tuple[Check, ...]
    broke: str = ""
    """What it did to the program, which refutes it; empty where nothing is wrong."""


class Seen(NamedTuple):
    """One run under the change."""

    wall_s: float
    failure: str
    """In a few words; empty where it ended well."""
    hung: bool = False


@dataclass
class Watched:
    """Starts runs, and keeps those of one program: the proof's runs are looked at as well, so few are made in vain."""

    starts: Starts
    argv: tuple[str, ...]
    capture: bool
    seen: Callable[[Run], Seen]
    runs: list[Seen] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether the budget of the runs is used up."""
        return self.starts.over

    def run(
        self, launch: Launch, *, timeout_s: float | None = None, capture: bool = False, on_started: OnStarted = None
    ) -> Run:
        """Run once."""
        ours = launch.argv == self.argv
        run = self.starts.run(
            launch, timeout_s=timeout_s, capture=capture or (ours and self.capture), on_started=on_started
        )
        if ours:
            self.runs.append(self.seen(run))
        return run


def broke(runs: Sequence[Seen], expected: Expected) -> str | None:
    """Say what is wrong with runs under a change; empty: nothing, None: that takes another run to tell."""
    if not runs:
        return None
    failures = [run for run in runs if run.failure]
    at_once = len(failures) == len(runs) and expected.fails_at_once(len(runs))
    if failures and (at_once or expected.fails_more(len(runs), len(failures))):
        return broken_words(failures[-1], expected)
    if len(failures) == len(runs):
        return None
    slow = [run.wall_s for run in runs if not run.failure]
    times = min(slow) / expected.longest_s if expected.longest_s else 0.0
    if times <= BEARABLE:
        return ""
    if len(slow) < LEAST_SLOW:
        return None
    return f"made the program take {times:.2g} times the baseline's slowest run"


def screened(watched: Watched, again: Callable[[], object], expected: Expected) -> str:
    """Look at the proof's runs, and at a few more where they do not tell."""
    return next((found for found in _looks(watched, again, expected) if found is not None), "")


def _looks(watched: Watched, again: Callable[[], object], expected: Expected) -> Iterator[str | None]:
    yield broke(watched.runs, expected)
    for _ in range(MOST_SCREENED):
        again()
        yield broke(watched.runs, expected)


def broken_words(run: Seen, expected: Expected) -> str:
    """Say how a change made the program fail."""
    if not run.hung:
        return f"breaks the program: {run.failure}"
    usual = f", the baseline's longest was {expected.longest_s:.2g} s" if expected.longest_s else ""
    return f"made a run hang: ended after {run.wall_s:.2g} s{usual}"
