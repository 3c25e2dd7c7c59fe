"""What a material state was made of: calls, files, peers and functions, and the factors that they show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from ...knowledge.schema import KnownFactor
from ...knowledge.shape import is_empty, is_none
from ...knowledge.time_states import ON_CPU_KINDS, WAITS, TimeState
from ...layers.probes.opened import OpenedRun
from ..statistics.values import BoolArray, FiniteResult, FloatArray, IntervalEstimate
from ..verdict_words import listed
from .recognise import PartSeen, RecognisedFactor, alike, failing_as_often, recognised, timer_ms
from .shares import portions
from .split import FEWEST_OF_ALL, OTHERS, SplitRuns, by_function, in_ratio, own_samples, parts_of

PartTold = tuple[FloatArray, dict[str, Any]]
"""Milliseconds of a part, shape (runs,), and what it was: fields of a `LedgerCause`."""

LEAST_SHARE = 0.05
"""Of the whole gap: a part with less is not named."""
HALF = 0.5
"""Of the gap, or of the time of fast runs."""
MOST = 4
"""Parts of a state that are named, functions with few samples not counted."""


class LedgerCause(FiniteResult):
    """A part of a state."""

    state: str
    what: str
    """Call, file and who ended the wait; the function, of time on a CPU; who had the CPU, of a queue."""
    via: str
    """The waits that led there; empty where the timed task itself was in that state."""
    gap_ms: float
    """Slow runs less fast ones."""
    gap_interval: IntervalEstimate
    """95 %."""
    share: float
    """Of the variance."""
    share_interval: IntervalEstimate
    """95 %."""
    episodes_slow: float
    """A run, in slow runs."""
    episodes_fast: float
    each_slow_ms: float | None
    """Median of the long episodes of slow runs."""
    each_fast_ms: float | None
    timer: str
    """What their length says, if it says anything."""
    failing: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Calls that fail as often as the program pauses, with their errors."""
    processes: dict[str, int] = Field(default_factory=dict, exclude_if=is_empty)
    """Numbers of other programs, by the names that they have here, where each was one process in all runs."""
    caller: str = Field(default="", exclude_if=is_empty)
    """The function of the program below which most of the gap on a CPU lies, and less of the time of fast runs."""
    recognised: RecognisedFactor | None = Field(default=None, exclude_if=is_none)
    """What is known to look like this."""

    @property
    def pooled(self) -> bool:
        """Functions that have few samples each."""
        return self.what.startswith(OTHERS)

    @property
    def words(self) -> str:
        """What it was, and what led there."""
        caller = f"most of the gap on a CPU lies below {self.caller}" if self.caller else ""
        failing = f"as often as {listed(self.failing)} fails" if self.failing else ""
        said = "; ".join(filter(None, (self.via, self.what, self.timer, failing, caller)))
        for name, number in self.processes.items():
            said = said.replace(name, f"{name[:-1]}, pid {number})", 1)
        return said


def causes(
    split: SplitRuns, state: str, slow: BoolArray, factors: Iterable[KnownFactor], seed: int
) -> tuple[LedgerCause, ...]:
    """The parts of a state, those that surely hold most of the gap first; `factors` are recognised in them."""
    opened, time_ms = split.opened, split.time_ms
    least = LEAST_SHARE * abs(_gap(time_ms, slow))
    parts = _of_functions if state in ON_CPU_KINDS else _of_parts
    made = [one for one in parts(split, state, slow, tuple(factors)) if abs(_gap(one[0], slow)) >= least]
    held = portions([ms for ms, _ in made], time_ms, slow, seed)
    large = [
        LedgerCause(state=state, **told, **portion._asdict()) for (_, told), portion in zip(made, held, strict=True)
    ]
    large.sort(key=lambda one: -one.gap_interval.low)
    if large and state in ON_CPU_KINDS and state != TimeState.INTERRUPT:
        large[0] = large[0].model_copy(update={"caller": _caller(opened, time_ms, slow, seed)})
    named = [one for one in large if not one.pooled][:MOST]
    return tuple(one for one in large if one.pooled or one in named)


def _of_parts(split: SplitRuns, state: str, slow: BoolArray, factors: Sequence[KnownFactor]) -> Iterator[PartTold]:
    """Milliseconds of each part, and the fields that tell what it was."""
    opened = split.opened
    for (own, what, via), ms in parts_of(opened).items():
        if own.value != state or not what:
            continue
        there = [
            [part for part in run.parts if (part.state, part.what, part.via) == (own, what, via)] for run in opened
        ]
        episodes = np.array([sum(part.episodes for part in run) for run in there])
        lengths = [[length for part in run for length in part.longest_ms] for run in there]
        each_ms, of_slow = np.array(sum(lengths, [])), np.repeat(slow, [len(run) for run in lengths])
        more = _more_work(opened, ms, slow)
        part = PartSeen(
            *(state, f"{via} < {what}", each_ms, episodes, [run.failed for run in opened], slow), more_work=more
        )
        long, alike_ms = part.long, timer_ms(part.long_ms)
        slow_ms, fast_ms = _median(each_ms[long & of_slow]), _median(each_ms[long & ~of_slow])
        timed = alike_ms is not None and state in WAITS and (not (slow_ms and fast_ms) or alike(slow_ms, fast_ms))
        yield (
            ms,
            {
                "what": what,
                "via": via,
                "episodes_slow": episodes[slow].mean(),
                "episodes_fast": episodes[~slow].mean(),
                "each_slow_ms": slow_ms,
                "each_fast_ms": fast_ms,
                "timer": f"most last {alike_ms:.3g} ms" if timed else "",
                "failing": failing_as_often(part) if state in (TimeState.SLEEP, TimeState.POLL) else (),
                "processes": _processes(opened, f"{via} {what}"),
                "recognised": recognised(part, factors),
            },
        )


def _more_work(opened: Sequence[OpenedRun], ms: FloatArray, slow: BoolArray) -> bool:
    """Tell whether slow runs have no more tasks, and those were on CPUs for longer by half of the gap of a part."""
    tasks, own = np.array([run.started for run in opened], dtype=float), np.array([run.own_ms for run in opened])
    return _gap(tasks, slow) < HALF and _gap(own, slow) >= HALF * _gap(ms, slow)


def _median(lengths_ms: FloatArray) -> float | None:
    return float(np.median(lengths_ms)) if lengths_ms.size else None


def _of_functions(split: SplitRuns, state: str, slow: BoolArray, factors: Sequence[KnownFactor]) -> Iterator[PartTold]:
    """The time of each run in a state on a CPU, divided in the ratio of its samples there."""
    opened = split.opened
    threads = bool(np.median([run.threads for run in opened]) > 1)
    sampled = by_function(opened, lambda one: (one.kind, one.what, one.via))
    here = {key: counts for key, counts in sorted(sampled.items()) if key[1] == state}
    if not here:
        return
    each_ms = in_ratio(split.states[state], np.array([*here.values()]).T).T
    for ((function, _, what, via), counts), ms in zip(here.items(), each_ms, strict=True):
        few = f" (fewer than {FEWEST_OF_ALL} samples each: more runs name them)" * function.startswith(OTHERS)
        words = f"{via} < {function}, {what}"
        part = PartSeen(state, words, np.empty(0), counts, [run.failed for run in opened], slow, threads)
        yield (
            ms,
            {
                "what": f"{function}{few}, {what}",
                "via": via,
                "episodes_slow": counts[slow].mean(),
                "episodes_fast": counts[~slow].mean(),
                "each_slow_ms": None,
                "each_fast_ms": None,
                "timer": "",
                "recognised": recognised(part, factors),
            },
        )


def _gap(ms: FloatArray, slow: BoolArray) -> float:
    return float(ms[slow].mean() - ms[~slow].mean())


def _ms_of_sample(opened: Sequence[OpenedRun]) -> FloatArray:
    total = np.array([sum(part.ms for part in run.parts if part.state is TimeState.ON_CPU) for run in opened])
    each: FloatArray = total / [max(1, sum(one.samples for one in own_samples(run))) for run in opened]
    return each


def _caller(opened: Sequence[OpenedRun], time_ms: FloatArray, slow: BoolArray, seed: int) -> str:
    """The function that surely has half of the gap on a CPU below it, and the least of the time of fast runs.

    Empty where that is half of their time or more, as of a program's `main`, or where no callers are known.
    """
    ms_each = _ms_of_sample(opened)
    total = ms_each * [sum(one.samples for one in own_samples(run)) for run in opened]
    names = sorted(set[str]().union(*(run.under for run in opened)))
    each = {name: ms_each * [run.under.get(name, 0) for run in opened] for name in names}
    more = {name: ms - HALF * total for name, ms in each.items() if _gap(ms, slow) > HALF * _gap(total, slow) > 0}
    held = zip(more, portions([*more.values()], time_ms, slow, seed), strict=True)
    found = [(each[name][~slow].mean(), name) for name, portion in held if portion.gap_interval.low > 0]
    least, name = min(found, default=(0.0, ""))
    return name if least <= HALF * total[~slow].mean() else ""


def _processes(opened: Sequence[OpenedRun], words: str) -> dict[str, int]:
    """Numbers of the processes that are named in words, of those that had one number in all runs that name them."""
    numbers = defaultdict[str, set[int]](set)
    for run in opened:
        for name, number in run.processes.items():
            if name in words:
                numbers[name].add(number)
    return {name: min(those) for name, those in numbers.items() if len(those) == 1}
