"""Why slow runs spend more in a state on a CPU: other functions, more events, a busy neighbour, or none of that."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from ...knowledge.shape import is_empty, is_none
from ...knowledge.terms import state_words
from ...knowledge.time_states import ON_CPU_KINDS, TimeState
from ..statistics.association.mix import ALPHA, MixTest, compare_mixes, going_with
from ..statistics.shape.describe import describe
from ..statistics.values import BoolArray, FiniteResult, FloatArray, centred_ranks, ranks_of
from ..verdict_words import listed
from .correlates import (
    CALLS,
    MOVES,
    BusyNeighbour,
    CallCount,
    FunctionCalls,
    LineSharing,
    busy_neighbour,
    call_count,
    counts_of,
    function_calls,
    layer_to_count,
    line_sharing,
)
from .shares import MATERIAL, VarianceShares, slow_runs
from .split import FEWEST_OF_ALL, OTHERS, SplitRuns, by_function, in_ratio

LEAST = 0.1
"""Of what slow runs spend more: with so little left, the rest takes as long; an event has to grow by as much of it."""
SLIGHT = 0.05
"""Of the time of slow runs in a function: with less, fast ones hardly execute it."""
CONTINUOUS = 1.5
"""The p95 over the p5 of times without levels, above which layout, caches or the clock hardly make them."""
MOST_UNSEEN = 0.5
"""Of the share of the gap in the time of slow runs: functions are alike only where so much elsewhere would show."""
MixReading = Literal["other code", "concentrated", "unequal", "unclear", "alike", "few samples"]
QUANTILES = 0.05, 0.95
OF_WORK = (TimeState.SYSTEM, TimeState.PAGE_FAULT)
"""States that are longer where a program does more."""


class FunctionTime(FiniteResult):
    """Mean time of a run in a function."""

    function: str
    slow_ms: float
    fast_ms: float


class OnCpuEvidence(FiniteResult):
    """What tells why slow runs spend more in a state on a CPU (ledger design, section 9)."""

    state: str
    gap_ms: float
    samples: int
    """In this state, of all runs."""
    distance: float
    """What part of the samples lies in other functions in slow runs than in fast ones."""
    p_value: float
    unseen: float
    """A smaller distance is not told from luck."""
    reading: MixReading
    """Functions that fast runs hardly execute; all in some functions; more in some than in others; functions differ,
    and none stands out; all alike; too few samples to see half of the gap in functions of its own."""
    functions: tuple[FunctionTime, ...] = Field(default=(), exclude_if=is_empty)
    """That take more than their share, the largest gap first."""
    events: tuple[CallCount, ...] = Field(default=(), exclude_if=is_empty)
    """That grow with the time."""
    longer: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """States of the kernel's work for the program in which slow runs spend more, too."""
    levels: int
    """Of the time on a CPU."""
    ratio: float
    """Its p95 over its p5."""
    neighbour: BusyNeighbour | None = Field(default=None, exclude_if=is_none)
    """Where the time surely goes with it."""
    lines: tuple[LineSharing, ...] = Field(default=(), exclude_if=is_empty)
    """Cache lines that threads share."""
    runs_needed: int = Field(default=0, exclude_if=is_empty)
    """In which samples would tell whether functions are alike, where these do not."""
    calls: tuple[FunctionCalls, ...] = Field(default=(), exclude_if=is_empty)
    """Of functions, where the layer `calls` counted them."""
    to_count: str = Field(default="", exclude_if=is_empty)
    """Spec of the layer that counts calls of the function that takes longer; empty where that would tell no more."""

    @property
    def sentence(self) -> str:
        """Say all of it."""
        beside = self.neighbour.words if self.neighbour else ""
        calls, lines = (one.words for one in self.calls), (one.words for one in self.lines)
        return " ".join(filter(None, (self._mix, self._more, *calls, *lines, beside, self._rest)))

    @property
    def short(self) -> str:
        """A clause for a verdict; empty where nothing can be said."""
        names = listed([one.function for one in self.functions])
        if self.reading != "other code" and self._surest:
            return self._surest
        match self.reading:
            case "other code":
                return f"slow runs execute {names}, which fast ones hardly do"
            case "concentrated":
                return f"more calls of {names}, or longer ones"
            case "unequal":
                return f"more than its share in {names}"
            case "alike" if self._grown:
                return f"all functions alike, with more {listed(self._grown)}: more work"
            case "alike" if self.neighbour:
                return f"all functions alike, while {self.neighbour.other_cpu} is busy"
            case "alike" if self.state == TimeState.USER:
                layout = "" if self._continuous else "layout, "
                return f"all functions alike: {layout}other work or another speed of the CPU, unproved"
        return ""

    @property
    def _surest(self) -> str:
        """What tells more than functions do; empty where nothing does."""
        clauses = [one.short for one in self.lines if one.grows]
        if self.reading in ("concentrated", "alike"):
            clauses += [one.short for one in self.calls if one.short]
        return clauses[0] if clauses and not self._grown else ""

    @property
    def open(self) -> bool:
        """Nothing tells yet whether slow runs do more."""
        alike = self.state == TimeState.USER and self.reading in ("concentrated", "unequal", "alike")
        return alike and not (self._grown or self.calls)

    @property
    def _grown(self) -> list[str]:
        return [*(one.what for one in self.events), *(f"time {state_words(state)}" for state in self.longer)]

    @property
    def _continuous(self) -> bool:
        return self.levels < 2 and self.ratio > CONTINUOUS

    @property
    def _mix(self) -> str:
        found, tested = listed([_words(one) for one in self.functions]), f"p {self.p_value:.2g}"
        match self.reading:
            case "other code":
                return f"Slow runs execute {found}, which fast ones hardly do ({tested}): other work."
            case "concentrated":
                return (
                    f"The {self.gap_ms:.3g} ms that slow runs spend more lie in {found}, and other functions take as "
                    f"long as in fast runs ({tested}): more calls, or longer ones."
                )
            case "unequal":
                return f"More than its share of what slow runs spend more lies in {found} ({tested})."
            case "unclear":
                return f"Functions may share the time otherwise in slow runs ({tested}); none of them stands out."
            case "alike" if not self.unseen:
                return f"All {self.samples} samples lie in one function."
            case "alike":
                return (
                    f"The functions of slow runs share the time as those of fast ones do ({tested}, {self.samples} "
                    f"samples; less than {100 * self.unseen:.2g} % elsewhere would not show)."
                )
        more = f"; some {self.runs_needed} runs would tell" * bool(self.runs_needed)
        why = f"{tested}; less than {100 * self.unseen:.2g} % elsewhere would not show{more}"
        why = why if self.unseen else f"no function has {FEWEST_OF_ALL} of them"
        return f"{self.samples} samples do not tell whether slow runs execute other functions ({why})."

    @property
    def _more(self) -> str:
        counts = [f"{one.what} ({one.slow:.4g} a slow run, {one.fast:.4g} a fast one)" for one in self.events]
        clauses = (
            f"have more {listed(counts)}" * bool(counts),
            f"also spend more time {listed([state_words(state) for state in self.longer])}" * bool(self.longer),
        )
        return f"Slow runs {' and '.join(filter(None, clauses))}: more work." if any(clauses) else ""

    @property
    def _rest(self) -> str:
        told = (
            self._grown or self.neighbour or any(one.grows for one in self.lines) or any(one.more for one in self.calls)
        )
        if self.reading != "alike" or told or self.neighbour or self.state != TimeState.USER:
            return ""
        if self._continuous:
            return (
                f"Without levels and over a range of x{self.ratio:.2g} that is different work (input, random numbers) "
                "or another speed of the CPU (clock, host), unproved: fix the input and the seed; if it stays, "
                "it is the speed, or layout."
            )
        spread = f"{self.levels} levels" if self.levels > 1 else f"a range of x{self.ratio:.2g}"
        return (
            f"With {spread} that is the speed of the CPU (clock, host, a busy sibling), layout, caches, or another way "
            "through the same functions, unproved: try randomisation_off and pin_to_cpu in pairs."
        )


def _words(one: FunctionTime) -> str:
    return f"{one.function} ({one.slow_ms:.3g} ms a slow run, {one.fast_ms:.3g} a fast one)"


def on_cpu_evidence(split: SplitRuns, divided: VarianceShares, seed: int) -> OnCpuEvidence | None:
    """Look at the material state on a CPU, the program's own instructions first; None where nothing was sampled."""
    held = {one.state: one for one in divided.material if one.state in ON_CPU_KINDS}
    if not held or not split.opened:
        return None
    one = held.get(TimeState.USER) or next(iter(held.values()))
    slow, _ = slow_runs(split.time_ms, split.told)
    names, counts = _functions(split, one.state)
    if (test := compare_mixes(counts, slow, seed)) is None:
        return None
    time_ms = split.states[one.state]
    more = _more_than_share(names, counts, time_ms, slow, test)
    whole = np.sum([split.states[kind] for kind in ON_CPU_KINDS if kind in split.states], axis=0)
    low, high = np.quantile(whole, QUANTILES)
    known = names != [OTHERS]
    of_slow = one.gap_ms / float(time_ms[slow].mean())
    reading = _reading(test, more, one.gap_ms, of_slow) if known else "few samples"
    new = [each for each in more if each.fast_ms <= SLIGHT * each.slow_ms]
    found = OnCpuEvidence(
        state=one.state,
        gap_ms=one.gap_ms,
        samples=int(counts.sum()),
        distance=test.distance,
        p_value=test.p_value,
        unseen=test.unseen,
        reading=reading,
        runs_needed=_runs_needed(slow.size, test.unseen, of_slow) if reading == "few samples" and known else 0,
        functions=tuple(new if reading == "other code" else more if test.p_value <= ALPHA else ()),
        events=_events(split, slow, time_ms, seed),
        longer=tuple(state.value for state in OF_WORK if state in held and state != one.state),
        levels=len(describe(whole).modes),
        ratio=float(high / low) if low > 0 else 1.0,
        neighbour=busy_neighbour(split, slow, whole, seed),
        lines=line_sharing(split, slow, time_ms, seed) if one.state == TimeState.USER else (),
        calls=function_calls(split, slow, time_ms, seed) if one.state == TimeState.USER else (),
    )
    most = more[0].function if more else names[int(counts.sum(axis=0).argmax())]
    return found.model_copy(update={"to_count": layer_to_count(split, most)}) if found.open else found


def _functions(split: SplitRuns, state: str) -> tuple[list[str], FloatArray]:
    """Names, and samples of each run, shape (runs, functions); those with few samples are one."""
    found: dict[str, FloatArray] = {}
    for (function, kind), samples in by_function(split.opened, lambda one: (one.kind,)).items():
        if kind == state:
            name = function if samples.sum() >= FEWEST_OF_ALL else OTHERS
            found[name] = found.get(name, 0.0) + samples
    return list(found), np.array([*found.values()]).reshape(len(found), -1).T


def _more_than_share(
    names: list[str], counts: FloatArray, time_ms: FloatArray, slow: BoolArray, test: MixTest
) -> list[FunctionTime]:
    """Functions whose share surely grows and that hold enough of the gap."""
    each = in_ratio(time_ms, counts)
    slow_ms, fast_ms = each[slow].mean(axis=0), each[~slow].mean(axis=0)
    least = MATERIAL * (time_ms[slow].mean() - time_ms[~slow].mean())
    kept = (test.p_values <= ALPHA) & (test.more > 0) & (slow_ms - fast_ms >= least)
    order = [place for place in np.argsort(fast_ms - slow_ms, kind="stable").tolist() if kept[place]]
    return [FunctionTime(function=names[at], slow_ms=slow_ms[at], fast_ms=fast_ms[at]) for at in order]


def _reading(test: MixTest, more: list[FunctionTime], gap_ms: float, of_slow: float) -> MixReading:
    if test.p_value > ALPHA:
        return "alike" if test.unseen <= MOST_UNSEEN * of_slow else "few samples"
    if any(one.fast_ms <= SLIGHT * one.slow_ms for one in more):
        return "other code"
    held = sum(one.slow_ms - one.fast_ms for one in more)
    return "unclear" if not more else "concentrated" if abs(gap_ms - held) <= LEAST * gap_ms else "unequal"


def _runs_needed(runs: int, unseen: float, of_slow: float) -> int:
    """What is not told from luck falls with the square root of the runs; two significant digits."""
    return int(float(f"{runs * (unseen / (MOST_UNSEEN * of_slow)) ** 2 + 0.5:.2g}"))


def _events(split: SplitRuns, slow: BoolArray, time_ms: FloatArray, seed: int) -> tuple[CallCount, ...]:
    """What surely grows with the time, by more than a tenth of what the time grows by.

    Not moves to another CPU: a run that lasts longer has more of them whatever it does.
    """
    counts = {**counts_of(split.opened), **split.events}
    named = {
        what: each for what, each in counts.items() if what != MOVES and not what.startswith(CALLS) and np.ptp(each)
    }
    if not named:
        return ()
    found, p_values = going_with(ranks_of(time_ms), centred_ranks(np.array([*named.values()]).T), seed)
    surely = (found > 0) & (p_values <= ALPHA)
    means = [call_count(what, each, slow) for (what, each), sure in zip(named.items(), surely, strict=True) if sure]
    grown = time_ms[slow].mean() / time_ms[~slow].mean() - 1
    kept = [one for one in means if one.slow - one.fast >= max(1.0, LEAST * grown * one.fast)]
    return tuple(sorted(kept, key=lambda one: one.fast - one.slow))
