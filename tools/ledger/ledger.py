"""The ledger of a series of runs: how their spread is divided among states, and what the material ones were made of."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from pydantic import Field

from ...knowledge.errors import VgoError
from ...knowledge.loader import load
from ...knowledge.schema import KnownFactor
from ...knowledge.shape import is_empty, is_none
from ...knowledge.time_states import OTHERS, TimeState, measured_as
from ...layers.loader import load_layers
from ...layers.probes.region import IN_CPU_TIME, FoundBy
from ..recorded.recorded import RecordedRuns
from ..row import FIXED, REQUIRED
from ..run_table import RunTable
from ..statistics.values import BoolArray, FiniteResult, FloatArray
from ..subject import Subject
from .causes import HALF, LedgerCause, causes
from .changed_states import changed_states
from .correlates import CallCount, call_count, counts_of
from .on_cpu import OnCpuEvidence, on_cpu_evidence
from .recognise import RecognisedFactor
from .shares import LEAST_MS, StateShare, VarianceShares, shares, slow_runs
from .split import LEDGER, STACKS, SlowRuns, SplitRuns, split_runs

MOST_RESIDUAL = 0.01
"""The states add up to the time within this share of it, or `LEAST_MS`; else nothing is concluded."""
MOST_UNSEEN = 0.03
"""Of the time, that the scheduler told nothing of: with more, what was seen may not be what differs."""
OUR_LOOKING = "profiling_tools"
"""The factor whose marks are the names that tasks of our own have in a ledger."""
MOST_LEFT = 0.95
"""Ratio of standard deviations: a state that leaves more is not worth a remedy."""


class Sums(FiniteResult):
    """How well the states of each run add up to its time."""

    median_ms: float
    worst_ms: float
    hold: bool
    """In the median within 1 % of the time or .05 ms."""


class Ledger(FiniteResult):
    """Where the milliseconds of runs went."""

    layer: str
    whole: bool
    """Whole runs are split, though the metric may measure a part of them."""
    found_by: FoundBy = Field(default=FoundBy.RUN, exclude_if=lambda by: by is FoundBy.RUN)
    """How the part was found that is split; of whole runs, why none was."""
    fits: bool
    """What is split stands for the outcome: nothing is concluded where it does not."""
    left_out: int
    """Runs that could not be split."""
    sums: Sums
    shares: VarianceShares
    net: VarianceShares | None
    """Of the time without what others take of the CPUs, where that is material."""
    causes: tuple[LedgerCause, ...]
    """Of material states."""
    counts: tuple[CallCount, ...]
    """Failed calls, tasks started and moves to another CPU, where slow and fast runs differ in them."""
    on_cpu: OnCpuEvidence | None = Field(default=None, exclude_if=is_none)
    """What tells why slow runs spend more on a CPU, where that matters and samples were kept."""
    changed: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """States whose gap is another one in runs in which stacks were kept: these are left out."""
    timeless: bool = Field(default=False, exclude_if=operator.not_)
    """The metric is no time: what is split has to go with it."""
    steady: bool = Field(default=False, exclude_if=operator.not_)
    """The time varies by no more than what was said to be steady: nothing has to be explained."""

    @property
    def material(self) -> tuple[StateShare, ...]:
        """The states that matter, the largest share first; then those that do once what others take is left out.

        What the host of a virtual machine takes is last: nothing on this machine changes it. None where nothing is
        concluded, or nothing has to be explained.
        """
        if self.steady or not self.concludes:
            return ()
        known = {one.state for one in self.shares.material}
        beside = self.net.material if self.net else ()
        found = (*self.shares.material, *(one for one in beside if one.state not in known))
        return tuple(sorted(found, key=lambda one: one.state == TimeState.STOLEN))

    @property
    def concludes(self) -> bool:
        """The states add up to the time of the runs, that stands for what the outcome measures, and enough was seen."""
        return self.sums.hold and self.fits and self.seen

    @property
    def seen(self) -> bool:
        """What the scheduler told nothing of is neither much of the time nor goes with slow runs."""
        unseen = self.shares.state(TimeState.UNSEEN)
        most_ms = MOST_UNSEEN * self.shares.mean_ms
        return unseen is None or unseen.mean_ms <= most_ms and unseen not in self.shares.material

    def held_by(self, states: Iterable[TimeState]) -> tuple[StateShare, ...]:
        """The states among these, divided or not, that matter."""
        meant = {name for state in states for name in measured_as(state)}
        return tuple(one for one in self.material if one.state in meant)

    def sd_left(self, states: Iterable[TimeState]) -> float:
        """Ratio of standard deviations if the one of these states that matters most did not vary; 1 if none matters."""
        return min((one.sd_left for one in self.held_by(states)), default=1.0)

    def worth_trying(self, states: Iterable[TimeState]) -> bool:
        """Tell whether a remedy of these states could leave noticeably less spread at best."""
        return self.sd_left(states) <= MOST_LEFT

    def gap_ms(self, states: Iterable[TimeState]) -> float:
        """What slow runs spend more in these states than fast ones."""
        meant = {name for state in states for name in measured_as(state)}
        return sum(one.gap_ms for one in self.shares.states if one.state in meant)

    def why(self, state: str) -> str:
        """Clause: what tells why slow runs spend more in a state on a CPU; empty for others, or where nothing does."""
        return self.on_cpu.short if self.on_cpu and self.on_cpu.state == state else ""

    def by_looking(self, state: str) -> bool:
        """Tell whether most of a state is time in which our own process had the CPU, or kept the program waiting."""
        largest = self.cause_of(state)
        return largest is not None and largest.recognised is not None and largest.recognised.factor == OUR_LOOKING

    def cause_of(self, state: str) -> LedgerCause | None:
        """The largest part of a state."""
        return next((one for one in self.causes if one.state == state), None)

    def recognised_in(self, state: str) -> RecognisedFactor | None:
        """The factor of its largest part, or of the next ones that hold at least half as much of the gap.

        One that any part of the state looks like only where none of them shows another.
        """
        parts = [one for one in self.causes if one.state == state]
        known = [one.recognised for one in parts if one.recognised and one.gap_ms >= HALF * parts[0].gap_ms]
        return min(known, key=lambda one: one.by_state, default=None)


def ledger_of(
    table: RunTable,
    subject: Subject,
    seed: int,
    factors: Mapping[str, KnownFactor] = MappingProxyType({}),
    steady_cv: float = 0.0,
    told: SlowRuns | None = None,
) -> Ledger | None:
    """Make the ledger of the runs that carry one; None where there is none.

    Of those with stacks where there are some, unless the same states have other gaps in runs without, and not since our
    own process took time: then keeping the stacks has changed the program, which is told where whole runs without stand
    for the same. `factors` are recognised in what the states were made of. Runs whose CV is at most `steady_cv` are
    steady. `told`: which rows of the table are slow; else those that carry a ledger tell.
    """
    made = _either(table, subject, seed, factors, told)
    if made is None:
        return None
    timeless = subject.metric is not None and not subject.ns_each
    steady = made.shares.sd_ms <= steady_cv * made.shares.mean_ms
    return made.model_copy(update={"timeless": timeless, "steady": steady})


def _either(
    table: RunTable, subject: Subject, seed: int, factors: Mapping[str, KnownFactor], told: SlowRuns | None
) -> Ledger | None:
    """Of runs with stacks, or of those without."""
    with_stacks = split_runs(table, STACKS, subject, told=told)
    alone = split_runs(table, LEDGER, subject, without=STACKS, told=told)
    opened = ledger_of_split(STACKS, with_stacks, seed, factors.values()) if with_stacks else None
    plain = ledger_of_split(LEDGER, alone, seed) if alone else None
    if opened is None or with_stacks is None or plain is None:
        return opened or plain
    if not plain.fits or with_stacks.found_by in IN_CPU_TIME:
        return opened
    theirs = [one for one in plain.shares.states if not opened.by_looking(one.state)]
    changed = changed_states(theirs, with_stacks, plain.shares.gap_ms, seed)
    return plain.model_copy(update={"changed": changed}) if changed else opened


def ledger_of_split(layer: str, split: SplitRuns, seed: int, factors: Iterable[KnownFactor] = ()) -> Ledger | None:
    """Make the ledger of runs that a layer has split; None where they are too few or do not vary."""
    divided = shares(split.time_ms, split.states, seed, split.told)
    if divided is None:
        return None
    slow, _ = slow_runs(split.time_ms, split.told)
    sums, net = sums_of(split.residual_ms, split.time_ms), _net(split, divided, seed)
    seen, of_seen = (without_others(split), net) if net else (split, divided)
    later = {one.state for one in net.material} if net else set[str]()
    found = _causes(split, [one.state for one in divided.material if one.state not in later], factors, seed)
    found += _causes(seen, [one.state for one in of_seen.material if one.state in later], factors, seed)
    return Ledger(
        layer=layer,
        whole=split.whole,
        found_by=split.found_by,
        fits=split.fits,
        left_out=split.left_out,
        sums=sums,
        shares=divided,
        net=net,
        causes=tuple(found),
        counts=_counts(split, slow),
        on_cpu=on_cpu_evidence(seen, of_seen, seed) if sums.hold and split.fits else None,
    )


def _causes(split: SplitRuns, states: Iterable[str], factors: Iterable[KnownFactor], seed: int) -> list[LedgerCause]:
    if not split.opened:
        return []
    slow, _ = slow_runs(split.time_ms, split.told)
    return [cause for state in states for cause in causes(split, state, slow, factors, seed)]


def without_others(split: SplitRuns) -> SplitRuns:
    """The same runs less what others took of their CPUs."""
    states = {name: values for name, values in split.states.items() if name not in OTHERS}
    taken = sum((values for name, values in split.states.items() if name in OTHERS), np.zeros(len(split.time_ms)))
    return replace(split, time_ms=split.time_ms - taken, states=states, told=None)


def sums_of(residual_ms: FloatArray, time_ms: FloatArray) -> Sums:
    """Hold what the states miss of each run, shape (runs,), against its time."""
    off = np.abs(residual_ms)
    hold = np.median(off) <= max(LEAST_MS, MOST_RESIDUAL * float(np.median(time_ms)))
    return Sums(median_ms=float(np.median(off)), worst_ms=float(off.max()), hold=bool(hold))


def _net(split: SplitRuns, divided: VarianceShares, seed: int) -> VarianceShares | None:
    if not any(one.state in OTHERS for one in divided.material):
        return None
    net = without_others(split)
    return shares(net.time_ms, net.states, seed)


def _counts(split: SplitRuns, slow: BoolArray) -> tuple[CallCount, ...]:
    """Counts whose means differ by at least one a run, the most different first."""
    runs = split.opened
    if not runs:
        return ()
    means = (call_count(what, each, slow) for what, each in sorted(counts_of(runs).items()))
    return tuple(sorted((one for one in means if abs(one.slow - one.fast) >= 1), key=lambda one: one.fast - one.slow))


def split_recorded(recorded: RecordedRuns) -> SplitRuns:
    """Split runs whose table has a ledger with stacks; raises VgoError where it has none."""
    opened = f"{STACKS}.opened" in recorded.frame.columns
    split = split_runs(_runs(recorded), STACKS, _subject(recorded)) if opened else None
    if split is None and f"{LEDGER}.{TimeState.ON_CPU}_ms" in recorded.frame.columns:
        raise VgoError(
            f"{recorded.source} has a ledger without stacks, which keeps no threads: see what they need here with "
            "`vgo-agent layers stacks`, and measure again."
        )
    if split is None:
        raise VgoError(f"{recorded.source} has no ledger of its runs: make one with `vgo-agent measure --ledger`.")
    return split


def ledger_recorded(recorded: RecordedRuns, seed: int, steady_cv: float) -> Ledger | None:
    """Make the ledger of runs whose table has one; None where it has none, or slow runs are not told from fast ones.

    Any table may have a column that is called as one of a ledger.
    """
    names = set(recorded.frame.columns)
    if names.isdisjoint(f"{layer}.{TimeState.ON_CPU}_ms" for layer in (LEDGER, STACKS)) or not names.issuperset(
        REQUIRED
    ):
        return None
    return ledger_of(_runs(recorded), _subject(recorded), seed, load().factors, steady_cv)


def _runs(recorded: RecordedRuns) -> RunTable:
    known = load_layers().values()
    names = [name for name in recorded.frame.columns if name in FIXED or any(one.column(name) for one in known)]
    return RunTable.of(recorded.frame.select(names), recorded.source, known)


def _subject(recorded: RecordedRuns) -> Subject:
    metric, unit = recorded.system.get("subject.metric"), recorded.units.get("outcome", "")
    return Subject(command=(recorded.source,), argv=(), directory="/", metric=metric, unit=unit)
