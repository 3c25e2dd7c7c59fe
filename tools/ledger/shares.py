"""What of the spread of runs each state of their time holds, in milliseconds and as a share of the variance.

With T_s the time in state s and M the time that is split, share_s = Cov(T_s, M) / Var(M); shares add up to 1, and one
may be negative or above 1. gap_s = mean of T_s in slow runs - mean in fast runs; gaps add up to the whole gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..statistics.labels.classes import label
from ..statistics.ratio_test import FEWEST
from ..statistics.shape.describe import describe
from ..statistics.values import BoolArray, FiniteResult, FloatArray, IntervalEstimate
from .split import SlowRuns

RESAMPLES = 500
LEVELS = 0.025, 0.975
MATERIAL, LEAST_MS = 0.05, 0.05
"""Of the gap, and milliseconds: a state with less is not worth a look; the states of a run miss its time by as much."""
MOST_TAKEN_OUT = 3


class TimePortion(NamedTuple):
    """What a part of the time of runs holds of their spread; intervals of 95 %."""

    gap_ms: float
    """Slow runs less fast ones."""
    gap_interval: IntervalEstimate
    share: float
    """Of the variance."""
    share_interval: IntervalEstimate


class StateShare(FiniteResult):
    """A state of the time of runs."""

    state: str
    mean_ms: float
    gap_ms: float
    """Slow runs less fast ones."""
    gap_interval: IntervalEstimate
    """95 %."""
    share: float
    """Of the variance."""
    share_interval: IntervalEstimate
    """95 %."""
    sd_left: float
    """Ratio of standard deviations if nothing of this state varied: the best that a remedy of this state can do."""


class TakenOut(FiniteResult):
    """States taken out one after the other, the largest share first."""

    state: str
    sd_left: float
    """Ratio of standard deviations without this state and those before it."""


class VarianceShares(FiniteResult):
    """How the spread of runs is divided among the states of their time."""

    runs: int
    n_slow: int
    how: str
    """Why slow and fast are told apart where they are."""
    mean_ms: float
    sd_ms: float
    gap_ms: float
    gap_interval: IntervalEstimate
    states: tuple[StateShare, ...]
    """The largest share first."""
    taken_out: tuple[TakenOut, ...]

    @property
    def material(self) -> tuple[StateShare, ...]:
        """States whose gap matters and that surely go with the spread."""
        return tuple(one for one in self.states if material(one, self.gap_ms))

    def state(self, name: str) -> StateShare | None:
        """Find a state."""
        return next((one for one in self.states if one.state == name), None)


def material(one: StateShare, gap_ms: float) -> bool:
    """Tell whether slow runs surely have more of a state, and with enough of the gap for it to be worth a look."""
    surely = min(one.share_interval.low, one.gap_interval.low) > 0
    return surely and one.gap_ms >= max(MATERIAL * abs(gap_ms), LEAST_MS)


def slow_runs(time_ms: FloatArray, told: SlowRuns | None = None) -> SlowRuns:
    """Tell slow runs from fast ones as they were `told`, if both are there; else as a diagnosis of these runs does."""
    if told is not None and told.slow.any() and not told.slow.all():
        return told
    labelled = label(time_ms, describe(time_ms))
    return SlowRuns(labelled.slow, labelled.classes.how)


def shares(
    time_ms: FloatArray, states: Mapping[str, FloatArray], seed: int, told: SlowRuns | None = None
) -> VarianceShares | None:
    """Divide the spread of runs, shape (runs,), among their states; None where too few runs or no spread are there."""
    runs = len(time_ms)
    if runs < FEWEST or not time_ms.std():
        return None
    slow, how = slow_runs(time_ms, told)
    if not slow.any() or slow.all():
        return None
    *held, whole = portions([*states.values(), time_ms], time_ms, slow, seed)
    sd = float(time_ms.std(ddof=1))
    found = [
        StateShare(
            state=name,
            mean_ms=float(own.mean()),
            sd_left=float((time_ms - own).std(ddof=1) / sd),
            **portion._asdict(),
        )
        for (name, own), portion in zip(states.items(), held, strict=True)
    ]
    found.sort(key=lambda one: -one.share)
    return VarianceShares(
        runs=runs,
        n_slow=int(slow.sum()),
        how=how,
        mean_ms=float(time_ms.mean()),
        sd_ms=sd,
        gap_ms=whole.gap_ms,
        gap_interval=whole.gap_interval,
        states=tuple(found),
        taken_out=_taken_out(time_ms, states, [one.state for one in found if material(one, whole.gap_ms)]),
    )


def portions(parts: Sequence[FloatArray], time_ms: FloatArray, slow: BoolArray, seed: int) -> list[TimePortion]:
    """What each part of the time of runs, shape (runs,), holds of their spread; runs of both classes are there.

    Slow and fast runs are drawn with replacement apart, as many as there are: with few of one class a draw of all runs
    together may have none, and then the share is that of something else.
    """
    values, chance = np.array([*parts, time_ms]), np.random.default_rng(seed)
    classes = [np.flatnonzero(of_class) for of_class in (slow, ~slow)]
    chosen = np.hstack([rows[chance.integers(0, rows.size, (RESAMPLES, rows.size))] for rows in classes])
    drawn = np.array([_divided(values[:, rows], slow[rows]) for rows in chosen])
    (low_share, low_gap), (high_share, high_gap) = np.nanquantile(drawn, LEVELS, axis=0).tolist()
    share, gap = _divided(values, slow).tolist()
    return [
        TimePortion(
            gap[place],
            IntervalEstimate(low=low_gap[place], high=high_gap[place]),
            share[place],
            IntervalEstimate(low=low_share[place], high=high_share[place]),
        )
        for place in range(len(parts))
    ]


def _divided(values: FloatArray, slow: BoolArray) -> FloatArray:
    """Share and gap of each row, shape (2, rows); the last row is the time itself."""
    centred = values - values.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = centred @ centred[-1] / (centred[-1] @ centred[-1])
    return np.array([share, values[:, slow].mean(axis=1) - values[:, ~slow].mean(axis=1)])


def _taken_out(time_ms: FloatArray, states: Mapping[str, FloatArray], names: list[str]) -> tuple[TakenOut, ...]:
    left, found = time_ms, []
    for name in names[:MOST_TAKEN_OUT]:
        left = left - states[name]
        found.append(TakenOut(state=name, sd_left=float(left.std(ddof=1) / time_ms.std(ddof=1))))
    return tuple(found)
