"""Which known factor a part of the time of runs shows, by the marks that the knowledge base declares."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from pydantic import Field

from ...knowledge.schema import KnownFactor, LedgerMark
from ..statistics.values import BoolArray, FiniteResult, FloatArray

LONG, ALIKE, NEAR, NEAR_MS, FEWEST_WAITS = 0.2, 0.6, 0.1, 0.06, 6
"""Episodes longer than this share of the longest, of which so many lie within so much of their median: a timer."""
LATE, LATE_MS, MOSTLY, FEWEST_STEPS = 1.05, 0.3, 0.8, 3
"""How much longer than it was asked for a pause may be; so many of them, of at least so many lengths: a back-off."""
APART = 0.1
"""Of two counts: within this share, or by one, they are as many."""


class RecognisedFactor(FiniteResult):
    """A factor of the knowledge base that a part of the time looks like."""

    factor: str
    """Its key."""
    name: str
    cure: str
    """What a user does about it, in one sentence."""
    by_state: bool = Field(default=False, exclude_if=operator.not_)
    """All of the state looks like it: another part of the state may show more."""

    @property
    def words(self) -> str:
        """Name it, say what to do, and where more is told."""
        return f"{self.name}: {self.cure.rstrip('.')} (`vgo-agent explain {self.factor}`)."


class PartSeen(NamedTuple):
    """What is known of a part of a state, over all runs."""

    state: str
    words: str
    """What led there, then what it was."""
    lengths_ms: FloatArray
    """Of the longest episodes of every run."""
    episodes: FloatArray
    """Shape (runs,)."""
    failed: Sequence[Mapping[str, int]]
    """Failed calls of each run."""
    slow: BoolArray
    threads: bool = False
    """In most runs several threads of one process had a CPU."""
    more_work: bool = False
    """In slow runs as many tasks were on CPUs for longer, by at least half of what this part is longer."""

    @property
    def long(self) -> BoolArray:
        """Which episodes are not short beside the longest."""
        return np.asarray(self.lengths_ms > LONG * self.lengths_ms.max(initial=0.0))

    @property
    def long_ms(self) -> FloatArray:
        """Their lengths."""
        long: FloatArray = self.lengths_ms[self.long]
        return long


def timer_ms(long_ms: FloatArray) -> float | None:
    """The length that nearly all episodes have; None where they differ, or are too few."""
    if long_ms.size < FEWEST_WAITS:
        return None
    median = float(np.median(long_ms))
    return median if np.mean(np.abs(long_ms - median) < NEAR * median + NEAR_MS) >= ALIKE else None


def alike(slow_ms: float, fast_ms: float) -> bool:
    """Tell whether episodes of slow and of fast runs last as long."""
    return abs(slow_ms - fast_ms) <= NEAR * max(slow_ms, fast_ms)


def recognised(part: PartSeen, factors: Iterable[KnownFactor]) -> RecognisedFactor | None:
    """The factor whose mark asks for most of what fits the part; None where none fits."""
    marks = [
        (-mark.criteria, mark.breadth, -factor.actionable, len(mark.states), factor.key, factor)
        for factor in factors
        for mark in factor.marks
        if fits(mark, part)
    ]
    if not marks:
        return None
    best = min(marks, key=lambda one: one[:5])
    factor = best[5]
    return RecognisedFactor(factor=factor.key, name=factor.name, cure=factor.cure, by_state=not best[0])


def fits(mark: LedgerMark, part: PartSeen) -> bool:
    """Tell whether all holds of a part that a mark asks for."""
    length, low_high = timer_ms(part.long_ms), mark.timer_ms
    called = "|".join(map(re.escape, mark.calls))
    return (
        part.state in mark.states
        and (not called or bool(re.search(rf"(: |waits in )({called})(?=[( ,]|$)", part.words)))
        and (not mark.words or bool(re.search(mark.words, part.words)))
        and (low_high is None or (length is not None and low_high[0] <= length <= low_high[1]))
        and (not mark.least_ms or (part.long_ms.size > 0 and float(np.median(part.long_ms)) >= mark.least_ms))
        and (not mark.back_off_ms or backs_off(part.lengths_ms, np.array(mark.back_off_ms)))
        and (not mark.fails or bool(failing_as_often(part, mark.fails)))
        and (not mark.as_often or _as_often(part))
        and (not mark.threads or part.threads)
        and not (mark.same_work and part.more_work)
    )


def backs_off(lengths_ms: FloatArray, steps_ms: FloatArray) -> bool:
    """Tell whether episodes are as long as the steps of a back-off, none left out between the shortest and longest."""
    over = lengths_ms[:, None] - steps_ms
    of_step = (over >= 0) & (over <= (LATE - 1) * steps_ms + LATE_MS)
    there = np.flatnonzero(of_step.any(axis=0))
    return bool(
        lengths_ms.size >= FEWEST_WAITS
        and of_step.any(axis=1).mean() >= MOSTLY
        and FEWEST_STEPS <= there.size == 1 + np.ptp(there)
    )


def failing_as_often(part: PartSeen, patterns: Iterable[str] = ("*",)) -> list[str]:
    """Calls, as `openat EEXIST`, that fail as often as the part happens, run by run."""
    calls = sorted(set[str]().union(*part.failed))
    return [call for call in calls if any(fnmatchcase(call, one) for one in patterns) and _as_many(part, call)]


def _as_many(part: PartSeen, call: str) -> bool:
    """As often as a call fails, in most of the runs in which either happens: several times in each, or more in some."""
    fails = np.array([run.get(call, 0) for run in part.failed], dtype=np.float64)
    there = (fails > 0) | (part.episodes > 0)
    several = part.episodes >= FEWEST_STEPS
    near = np.abs(fails - part.episodes) <= several * np.maximum(1, APART * part.episodes)
    if fails.sum() < FEWEST_WAITS or near[there].mean() < MOSTLY:
        return False
    return bool(np.ptp(part.episodes[there]) > 0 or several[there].all())


def _as_often(part: PartSeen) -> bool:
    slow, fast = part.episodes[part.slow].mean(), part.episodes[~part.slow].mean()
    return bool(min(slow, fast) >= FEWEST_WAITS and abs(slow - fast) <= APART * fast)
