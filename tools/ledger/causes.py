"""What a material state was made of: calls, files, peers and functions, and timers that are known by their length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...knowledge.time_states import ON_CPU_KINDS, TimeState
from ...layers.probes.opened import OpenedRun
from ..statistics.values import BoolArray, FiniteResult, FloatArray
from .split import own_samples, parts_of

LEAST_SHARE = 0.05
"""Of the whole gap: a part with less is not named."""
MOST = 4
"""Parts of a state that are named."""
FEWEST_SAMPLES = 20
"""Of all runs: where a function has fewer, a run more or less makes the difference."""
LONG, ALIKE, NEAR, NEAR_MS, FEWEST = 0.2, 0.6, 0.1, 0.06, 6
"""Episodes longer than this share of the longest, of which so many lie within so much of their median: a timer."""


class Quantum(NamedTuple):
    """A length that a timer of the system is known by."""

    low_ms: float
    high_ms: float
    states: tuple[TimeState, ...]
    words: str


WAITS_OF_NETWORK = (TimeState.SOCKET, TimeState.POLL, TimeState.BLOCKED)
QUANTA = (
    Quantum(39.5, 46, WAITS_OF_NETWORK, "40 ms: a delayed ACK that waits for Nagle's algorithm"),
    Quantum(199, 212, WAITS_OF_NETWORK, "200 ms: a TCP retransmission, or the longest delayed ACK"),
    Quantum(995, 1060, WAITS_OF_NETWORK, "1 s: the retransmission of a SYN"),
    Quantum(2990, 3200, WAITS_OF_NETWORK, "3 s: the second retransmission of a SYN"),
    Quantum(4990, 5200, WAITS_OF_NETWORK, "5 s: the time-out of a resolver"),
)


class LedgerCause(FiniteResult):
    """A part of a state."""

    state: str
    what: str
    """Call, file and who ended the wait; the function, of time on a CPU; who had the CPU, of a queue."""
    via: str
    """The waits that led there; empty where the timed task itself was in that state."""
    gap_ms: float
    """Slow runs less fast ones."""
    share: float
    """Of the variance."""
    episodes_slow: float
    """A run, in slow runs."""
    episodes_fast: float
    median_ms: float | None
    """Of the long episodes."""
    timer: str
    """What their length says, if it says anything."""

    @property
    def words(self) -> str:
        """What it was, and what led there."""
        return "; ".join(filter(None, (self.via, self.what, self.timer)))


def causes(opened: Sequence[OpenedRun], state: str, time_ms: FloatArray, slow: BoolArray) -> tuple[LedgerCause, ...]:
    """The parts of a state by the gap that they hold, the largest first."""
    gap = time_ms[slow].mean() - time_ms[~slow].mean()
    parts = _of_functions if state in ON_CPU_KINDS else _of_parts
    found = sorted(parts(opened, state, time_ms, slow), key=lambda one: -abs(one.gap_ms))
    return tuple(one for one in found if abs(one.gap_ms) >= LEAST_SHARE * abs(gap))[:MOST]


def _of_parts(opened: Sequence[OpenedRun], state: str, time_ms: FloatArray, slow: BoolArray) -> Iterator[LedgerCause]:
    for (own, what, via), ms in parts_of(opened).items():
        if own.value != state or not what:
            continue
        there = [
            [part for part in run.parts if (part.state, part.what, part.via) == (own, what, via)] for run in opened
        ]
        episodes = np.array([sum(part.episodes for part in run) for run in there])
        lengths = np.array([length for run in there for part in run for length in part.longest_ms])
        long = lengths[lengths > LONG * lengths.max(initial=0.0)]
        yield LedgerCause(
            state=state,
            what=what,
            via=via,
            **_divided(ms, time_ms, slow),
            episodes_slow=float(episodes[slow].mean()),
            episodes_fast=float(episodes[~slow].mean()),
            median_ms=float(np.median(long)) if long.size else None,
            timer=timer(own, long),
        )


def _of_functions(
    opened: Sequence[OpenedRun], state: str, time_ms: FloatArray, slow: BoolArray
) -> Iterator[LedgerCause]:
    """A sample stands for as much of the exact time on a CPU as there are samples in the run."""
    sampled = [Counter[tuple[str, str, str]]() for _ in opened]
    for count, run in zip(sampled, opened, strict=True):
        for one in own_samples(run):
            if one.kind == state:
                count[one.function, one.what, one.via] += one.samples
    total = np.array([sum(part.ms for part in run.parts if part.state is TimeState.ON_CPU) for run in opened])
    every = np.array([max(1, sum(one.samples for one in own_samples(run))) for run in opened])
    pooled = sum(sampled, Counter[tuple[str, str, str]]())
    for function, what, via in sorted(key for key, samples in pooled.items() if samples >= FEWEST_SAMPLES):
        counts = np.array([count[function, what, via] for count in sampled], dtype=np.float64)
        yield LedgerCause(
            state=state,
            what=f"{function}, {what}",
            via=via,
            **_divided(total * counts / every, time_ms, slow),
            episodes_slow=float(counts[slow].mean()),
            episodes_fast=float(counts[~slow].mean()),
            median_ms=None,
            timer="",
        )


def _divided(ms: FloatArray, time_ms: FloatArray, slow: BoolArray) -> dict[str, float]:
    centred = time_ms - time_ms.mean()
    return {
        "gap_ms": float(ms[slow].mean() - ms[~slow].mean()),
        "share": float((ms - ms.mean()) @ centred / (centred @ centred)),
    }


def timer(state: TimeState, long_ms: FloatArray) -> str:
    """What episodes of nearly one length say; empty where their lengths differ, or are too few."""
    if long_ms.size < FEWEST:
        return ""
    median = float(np.median(long_ms))
    if np.mean(np.abs(long_ms - median) < NEAR * median + NEAR_MS) < ALIKE:
        return ""
    known = (one.words for one in QUANTA if one.low_ms <= median <= one.high_ms and state in one.states)
    return next(known, f"nearly all last {median:.3g} ms" if state is TimeState.SLEEP else "")
