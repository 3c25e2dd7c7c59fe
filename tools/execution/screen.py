"""Look at runs of a new condition before any pair: what breaks, hangs or slows the program is refuted there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..mitigation.checks import Check
from .expected import BEARABLE, MOST_SCREENED, Expected
from .launch import Launch, OnStarted, Run

if TYPE_CHECKING:
    from ..mitigation.verification import Starts

LEAST_SLOW = 2
"""A single slow run may be bad luck."""


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
