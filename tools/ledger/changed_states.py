"""Whether a program spends its time in other states while its stacks are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...knowledge.time_states import ON_CPU_KINDS, WAITS, TimeState
from ..statistics.values import FloatArray, IntervalEstimate
from .shares import MATERIAL, StateShare, shares
from .split import SplitRuns


def changed_states(without: Sequence[StateShare], with_stacks: SplitRuns, gap_ms: float, seed: int) -> tuple[str, ...]:
    """States of runs without stacks, whose gap is `gap_ms`, that differ from those with, however these are counted."""
    counted = [
        shares(with_stacks.time_ms, one, seed, with_stacks.told)
        for one in (_undivided(with_stacks.states), _not_followed(with_stacks))
    ]
    others = ((one, [each.state(one.state) if each else None for each in counted]) for one in without)
    return tuple(one.state for one, other in others if _apart(one, other, gap_ms))


def _undivided(states: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Add up what only stacks tell apart."""
    found = dict[str, FloatArray]()
    for name, values in states.items():
        part = _coarse(TimeState(name))
        found[part] = found.get(part, 0.0) + values
    return found


def _coarse(state: TimeState) -> TimeState:
    return TimeState.ON_CPU if state in ON_CPU_KINDS else TimeState.BLOCKED if state in WAITS else state


def _not_followed(split: SplitRuns) -> dict[str, FloatArray]:
    """The same time by what the first task itself was in: without stacks fewer waits are followed to who ends them."""
    found = {name: values.copy() for name, values in _undivided(split.states).items()}
    for place, run in enumerate(split.opened):
        for part in run.parts:
            if (state := _coarse(part.state)) != (own := _coarse(part.own)):
                found.setdefault(state, np.zeros(len(split.opened)))[place] -= part.ms
                found.setdefault(own, np.zeros(len(split.opened)))[place] += part.ms
    return found


def _apart(one: StateShare, others: Sequence[StateShare | None], gap_ms: float) -> bool:
    """Tell whether a state that matters has neither a gap nor a share that another way to count it may have.

    No 95 % interval meets those of the others, or lies between them.
    """
    known = [other for other in others if other]
    if len(known) < len(others) or max(each.gap_ms for each in (one, *known)) < MATERIAL * abs(gap_ms):
        return False
    gaps, parts = [other.gap_interval for other in known], [other.share_interval for other in known]
    return not (_meets(one.gap_interval, gaps) or _meets(one.share_interval, parts))


def _meets(one: IntervalEstimate, others: Sequence[IntervalEstimate]) -> bool:
    return one.low <= max(other.high for other in others) and one.high >= min(other.low for other in others)
