"""Runs that failed, as an outcome: how many, of what, and whether a change is what makes the program fail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import polars as pl

from ..knowledge.shape import Frozen
from .execution.expected import Expected, Seen, broken_words
from .execution.outcomes import ITERATION, first_of_run
from .row import BASELINE, Row

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
HUNG = "did not end"
"""Stands in the reason of a run that was ended at its limit."""


class Failures(Frozen):
    """Runs that failed alike."""

    reason: str
    """Of the first of them: exit code or signal, and the last line that it said."""
    runs: int


class FailedArms(Frozen):
    """How often the program failed in both arms of a comparison."""

    baseline_runs: int
    baseline_failed: int
    other_runs: int
    other_failed: int
    p_value: float
    """Fisher's exact test, two-sided: twice the lesser of the two chances."""
    claim: Literal["fails less often", "fails more often", ""]
    """Where the p-value is at or below alpha, shared by all mitigations that may be tried."""

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        found = self.claim or "not shown to fail more or less often"
        return (
            f"{found}: {self.other_failed} of {self.other_runs} runs failed with it, {self.baseline_failed} of "
            f"{self.baseline_runs} without (Fisher's exact p {self.p_value:.2g})"
        )


def failed_arms(baseline: Expected, other: Expected, alpha: float) -> FailedArms | None:
    """Compare how often both arms failed; None where no run did."""
    if not baseline.failed + other.failed:
        return None
    more, fewer = baseline.chance(other.runs, other.failed), other.chance(baseline.runs, baseline.failed)
    p_value = min(1.0, 2 * min(more, fewer))
    claim: Literal["fails less often", "fails more often"] = "fails more often" if more < fewer else "fails less often"
    return FailedArms(
        baseline_runs=baseline.runs,
        baseline_failed=baseline.failed,
        other_runs=other.runs,
        other_failed=other.failed,
        p_value=p_value,
        claim=claim if p_value <= alpha else "",
    )


def failures_of(rows: Sequence[Row]) -> tuple[Failures, ...]:
    """Group failed runs by what they ended with and said, numbers apart, the most frequent first."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row["ok"] == 0:
            reason = str(row.get("failure") or f"exit {row['exit_code']}")
            groups.setdefault(_alike(reason), []).append(reason)
    found = (Failures(reason=group[0], runs=len(group)) for group in groups.values())
    return tuple(sorted(found, key=lambda one: -one.runs))


def _alike(reason: str) -> str:
    """Two messages that differ by an address or a time of day tell of one failure; exit codes are kept apart."""
    code, comma, said = reason.partition(",")
    return HUNG if HUNG in reason else code + comma + _NUMBER.sub("#", said)


def failed_words(failures: Sequence[Failures]) -> str:
    """Write groups of failures: `2 x exit 1, OSError: busy; 1 x signal 9`."""
    return "; ".join(f"{one.runs} x {one.reason}" for one in failures)


def shown_in(frame: pl.DataFrame) -> Expected:
    """What the rows of a table show."""
    asked = frame.select(name for name in ("ok", "wall_s", ITERATION) if name in frame.columns)
    return shown_by([{name: cell for name, cell in row.items() if cell is not None} for row in asked.to_dicts()])


def shown_by(rows: Sequence[Row]) -> Expected:
    """What rows of the program as it is given show."""
    first = [row for row in rows if first_of_run(row)]
    ended = [row["wall_s"] for row in rows if row["ok"] == 1]
    return Expected(longest_s=max(ended, default=0.0), runs=len(first), failed=sum(row["ok"] == 0 for row in first))


def broken_by(condition: str, rows: Sequence[Row], expected: Expected) -> str:
    """Say how a condition makes the program fail, beyond what the baseline does; empty where it does not.

    Asked after every run: a condition that fails for good is told after one or two, a rare failure needs more.
    """
    own = [row for row in rows if row["condition"] == condition]
    return broken_among(own, [row for row in rows if row["condition"] == BASELINE], expected)


def broken_among(own: Sequence[Row], baseline: Sequence[Row], expected: Expected) -> str:
    """Hold runs under something changed against those of the program as it is given, these and the expected ones."""
    failed = [row for row in own if row["ok"] == 0]
    if not failed:
        return ""
    whole = expected.and_also(shown_by(baseline))
    if not whole.fails_more(shown_by(own).runs, len(failed)):
        return ""
    last = failed[-1]
    reason = str(last.get("failure") or f"exit {last['exit_code']}")
    return broken_words(Seen(last["wall_s"], reason, HUNG in reason), whole)
