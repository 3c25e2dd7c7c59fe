"""The time of slow and of fast runs as stacks, for a differential flame graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ...knowledge.states import state_words
from ...knowledge.time_states import TimeState
from ...layers.probes.opened import OpenedRun
from .shares import slow_runs
from .split import SplitRuns

SHORT = "short pieces"
"""Whose reason was not kept."""


class FlameStack(NamedTuple):
    """Mean time of a run, in ms."""

    frames: tuple[str, ...]
    """What the timed thread was in, the waits that led on from there, what was done there."""
    fast_ms: float
    slow_ms: float


def flame_stacks(split: SplitRuns) -> tuple[FlameStack, ...]:
    """The mean fast and slow run, whose stacks add up to its time; none where runs were not opened."""
    if not split.opened or split.time_ms.size < 2 or not split.time_ms.std():
        return ()
    slow, _ = slow_runs(split.time_ms)
    spent = defaultdict[tuple[str, ...], list[float]](lambda: [0.0, 0.0])
    number = (int((~slow).sum()), int(slow.sum()))
    for run, is_slow in zip(split.opened, np.asarray(slow).tolist(), strict=True):
        for frames, ms in _stacks(run):
            spent[frames][is_slow] += ms / number[is_slow]
    return tuple(FlameStack(frames, *each) for frames, each in sorted(spent.items()))


def folded(stacks: Iterable[FlameStack]) -> str:
    """As difffolded.pl writes them and flamegraph.pl reads them: frames, ms of the fast run, ms of the slow run."""
    lines = (
        f"{';'.join(frame.replace(';', ',') for frame in one.frames)} {one.fast_ms:.3f} {one.slow_ms:.3f}\n"
        for one in stacks
    )
    return "".join(lines)


def _stacks(run: OpenedRun) -> Iterator[tuple[tuple[str, ...], float]]:
    """Exact time; that on a CPU is divided in the ratio of the samples there."""
    sampled = defaultdict[tuple[str, str], Counter[tuple[str, str]]](Counter)
    for one in run.samples:
        sampled[one.what, one.via][state_words(one.kind), one.function] += one.samples
    for part in run.parts:
        waits = tuple(filter(None, part.via.split(" < ")))
        state, what = state_words(part.state), part.what or SHORT
        own = (state_words(part.own),) if part.own != part.state else ()
        if part.state not in (TimeState.ON_CPU, TimeState.PEER_ON_CPU):
            yield (*own, *waits, state, what), part.ms
            continue
        counts = sampled[part.what, part.via] or Counter({("", ""): 1})
        for (kind, function), samples in counts.items():
            on_cpu = kind if kind and part.state is TimeState.ON_CPU else state
            frames = (*own, *waits, on_cpu, *filter(None, (what, function)))
            yield frames, part.ms * samples / counts.total()
