"""The time of slow and of fast runs as stacks, for a differential flame graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
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


class FlameFrame(NamedTuple):
    """A frame of the mean slow run, with all that is on top of it."""

    name: str
    depth: int
    """0: nothing is below it."""
    left_ms: float
    slow_ms: float
    """How wide it is."""
    fast_ms: float


def flame_frames(stacks: Sequence[FlameStack], depth: int = 0, left_ms: float = 0.0) -> Iterator[FlameFrame]:
    """Lay stacks out from the left, the widest first; what only fast runs have is no wider than nothing."""
    below = defaultdict[str, list[FlameStack]](list)
    for one in stacks:
        if depth < len(one.frames):
            below[one.frames[depth]].append(one)
    frames = [(sum(one.slow_ms for one in each), name, each) for name, each in below.items()]
    for slow_ms, name, each in sorted(frames, key=lambda frame: (-frame[0], frame[1])):
        yield FlameFrame(name, depth, left_ms, slow_ms, sum(one.fast_ms for one in each))
        yield from flame_frames(each, depth + 1, left_ms)
        left_ms += slow_ms


def flame_stacks(split: SplitRuns) -> tuple[FlameStack, ...]:
    """The mean fast and slow run, whose stacks add up to its time; none where runs were not opened."""
    if not split.opened or split.time_ms.size < 2 or not split.time_ms.std():
        return ()
    slow, _ = slow_runs(split.time_ms, split.told)
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
