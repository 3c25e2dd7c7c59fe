"""What goes with the time on a CPU: counts, a busy neighbour, calls of functions, cache lines that threads share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...layers.probes.elf_symbols import SPINNING
from ...layers.probes.opened import OpenedRun
from ...layers.probes.shared_lines import LINE, UNNAMED, SharedLine
from ..statistics.association.mix import ALPHA, going_with
from ..statistics.values import BoolArray, FiniteResult, FloatArray, centred_ranks, ranks_of
from ..verdict_words import listed
from .split import FEWEST_OF_ALL, SplitRuns

MOVES = "moves to another CPU"
LITTLE = 0.05
"""Of the time on a CPU: so little more of a busy neighbour does not matter."""
CALLS = "calls."
"""Columns of that layer begin so."""
LEAST_GROWTH = 0.1
"""Of what the time grows by: a count that grows by less leaves it to what each call takes."""
NORMAL_95 = 1.96
ONCE = re.compile(r"_*(main|start|start_thread|libc_start_(main|call_main)\w*|clone3?|wmain|Py_(RunMain|BytesMain))")
"""Functions that begin a program or a thread: to count their calls tells nothing."""
SYMBOL = re.compile(r"[\w.]+(::~?[\w.]+)*")
MATERIAL_SHARE = 0.1
"""Of the samples in the program's own instructions, in slow runs: a line with fewer is not named."""
EXPLAIN = "vgo-agent explain false_sharing"
MOST_LINES = 2
"""That are named."""


class CallCount(FiniteResult):
    """How often something happened in a run."""

    what: str
    slow: float
    fast: float


def call_count(what: str, each: FloatArray, slow: BoolArray) -> CallCount:
    """Means of both classes."""
    return CallCount(what=what, slow=float(each[slow].mean()), fast=float(each[~slow].mean()))


def counts_of(opened: Sequence[OpenedRun]) -> dict[str, FloatArray]:
    """What was counted, shape (runs,) each, by name."""
    calls = sorted(set[str]().union(*(run.failed for run in opened)))
    named = {f"{call}, failed": [run.failed.get(call, 0) for run in opened] for call in calls}
    named["threads and processes started"] = [run.started for run in opened]
    named[MOVES] = [run.moves for run in opened]
    return {what: np.array(each, dtype=np.float64) for what, each in named.items()}


class BusyNeighbour(FiniteResult):
    """Share of the time on a CPU in which other programs had another CPU."""

    same_core: bool
    """That CPU is of the same core; else it is any other one."""
    slow: float
    fast: float

    @property
    def other_cpu(self) -> str:
        """Which CPU it is."""
        return f"another CPU{' of the core' * self.same_core}"

    @property
    def words(self) -> str:
        """Say so, and what to do."""
        shares = f"{100 * self.slow:.0f} % of it in slow runs, {100 * self.fast:.0f} % in fast ones"
        shared = f"cache, memory or clock{' or core' * self.same_core}"
        return (
            f"The time goes with other programs on {self.other_cpu} meanwhile ({shares}): shared {shared}, unproved: "
            "stop them, or keep them off."
        )


def busy_neighbour(split: SplitRuns, slow: BoolArray, whole: FloatArray, seed: int) -> BusyNeighbour | None:
    """Look at the time on a CPU, `whole`, shape (runs,); None where it does not surely go with a neighbour."""
    beside = np.array([run.beside_ms for run in split.opened])
    share = np.divide(beside, whole, out=np.zeros_like(whole), where=whole > 0)
    (found,), (p_value,) = going_with(ranks_of(whole), ranks_of(share)[:, None], seed)
    slow_share, fast_share = float(share[slow].mean()), float(share[~slow].mean())
    if found <= 0 or p_value > ALPHA or slow_share - fast_share < LITTLE:
        return None
    same = all(run.same_core for run in split.opened)
    return BusyNeighbour(same_core=same, slow=slow_share, fast=fast_share)


class FunctionCalls(FiniteResult):
    """How often runs call a function."""

    function: str
    slow: float
    """Mean of slow runs."""
    fast: float
    more: bool
    """Slow runs surely call it more often."""
    alike: bool
    """They surely do not, or by too little."""

    @property
    def words(self) -> str:
        """Say it; that neither is sure, too."""
        counts = f"{self.slow:.4g} times a slow run, {self.fast:.4g} a fast one"
        if self.alike:
            return f"{self.short} ({counts}): the same work takes longer, or there is more of it in each call."
        return f"{self.function} is called {counts}{': more work' * self.more}."

    @property
    def short(self) -> str:
        """A clause; empty where neither is sure."""
        if self.alike:
            return f"{self.function} is called as often, and each call takes longer"
        return f"slow runs call {self.function} more often" * self.more


def function_calls(split: SplitRuns, slow: BoolArray, time_ms: FloatArray, seed: int) -> tuple[FunctionCalls, ...]:
    """Compare what was counted in runs whose `time_ms` on a CPU, shape (runs,), differ."""
    return tuple(
        _compared(name.removeprefix(CALLS), each, slow, time_ms, seed)
        for name, each in split.events.items()
        if name.startswith(CALLS) and each.any()
    )


def _compared(function: str, each: FloatArray, slow: BoolArray, time_ms: FloatArray, seed: int) -> FunctionCalls:
    at_least = LEAST_GROWTH * (time_ms[slow].mean() / time_ms[~slow].mean() - 1)
    more_by, fast = float(each[slow].mean() - each[~slow].mean()), float(each[~slow].mean())
    error = float(np.sqrt(sum(one.var() / max(1, one.size - 1) for one in (each[slow], each[~slow]))))
    (found,), (p_value,) = going_with(ranks_of(time_ms), centred_ranks(each[:, None]), seed)
    return FunctionCalls(
        function=function,
        slow=float(each[slow].mean()),
        fast=fast,
        more=bool(found > 0 and p_value <= ALPHA and more_by >= at_least * fast),
        alike=more_by + NORMAL_95 * error < at_least * fast,
    )


def layer_to_count(split: SplitRuns, named: str) -> str:
    """Spec of the layer that counts calls of `work in prog`; empty where its file or symbol is not known, or it begins
    a program or a thread, which is called once."""
    function, _, library = named.removesuffix(SPINNING).rpartition(" in ")
    function = function.removesuffix(SPINNING)
    path = next((one for run in split.opened for one in run.files if Path(one).name == library), "")
    known = SYMBOL.fullmatch(function) and not ONCE.fullmatch(function) and "," not in path
    return f"calls:function={function},binary={path}" if path and known else ""


class LineSharing(FiniteResult):
    """A cache line that threads use at once on two CPUs, and at least one writes."""

    where: str
    functions: tuple[str, ...]
    writers: int
    apart: bool
    """Each uses other bytes of it: false sharing."""
    locked: bool
    slow: float
    """Mean share of a run's samples in own instructions that are at the line while a thread on another CPU is at it."""
    fast: float
    grows: bool
    """That surely goes with the time on a CPU: a run that does more of everything has no larger share."""

    @property
    def words(self) -> str:
        """Say what was seen, and what may help."""
        goes = "the time goes with it" if self.grows else "no time surely goes with it"
        shares = f"{100 * self.slow:.2g} % of a slow run's samples, {100 * self.fast:.2g} % of a fast one's"
        return (
            f"{self.short[0].upper()}{self.short[1:]} in {listed(list(self.functions))}: {self._kind}. "
            f"{shares}, are at an instruction that uses it or just after one while another CPU does; {goes}."
        )

    @property
    def short(self) -> str:
        """A clause."""
        line = "a cache line of memory without a name" if self.where == UNNAMED else f"one cache line ({self.where})"
        if self.writers > 1:
            return f"threads on two CPUs write {line} at once"
        return f"a thread writes {line} while another one uses it on another CPU"

    @property
    def _kind(self) -> str:
        how = f"by {'locked' if self.locked else 'plain'} instructions"
        if self.apart:
            return (
                f"false sharing, since each uses other bytes of it, {how}: keep them {LINE} bytes apart (`{EXPLAIN}`)"
            )
        return f"they use the same bytes, {how}: give each thread its own, or use them less often"


def line_sharing(split: SplitRuns, slow: BoolArray, time_ms: FloatArray, seed: int) -> tuple[LineSharing, ...]:
    """Lines that hold enough samples of slow runs, the most first; `time_ms` on a CPU, shape (runs,)."""
    counts: dict[tuple[str, ...], FloatArray] = defaultdict(lambda: np.zeros(len(split.lines)))
    seen: dict[tuple[str, ...], SharedLine] = {}
    for place, run in enumerate(split.lines):
        for line in run.lines:
            key = (line.where, *(line.functions if line.where == UNNAMED else ()))
            counts[key][place] += line.samples
            seen[key] = max(seen.get(key, line), line, key=lambda one: one.samples)
    every = np.array([max(1, run.samples) for run in split.lines])
    shares = {key: each / every for key, each in counts.items() if each.sum() >= FEWEST_OF_ALL}
    kept = {key: share for key, share in shares.items() if share[slow].mean() >= MATERIAL_SHARE}
    if not kept:
        return ()
    found, p_values = going_with(ranks_of(time_ms), centred_ranks(np.array([*kept.values()]).T), seed)
    lines = [
        LineSharing(
            where=seen[key].where,
            functions=seen[key].functions,
            writers=seen[key].writers,
            apart=seen[key].apart,
            locked=seen[key].locked,
            slow=float(share[slow].mean()),
            fast=float(share[~slow].mean()),
            grows=bool(with_time > 0 and p_value <= ALPHA),
        )
        for (key, share), with_time, p_value in zip(kept.items(), found, p_values, strict=True)
    ]
    return tuple(sorted(lines, key=lambda line: -line.slow)[:MOST_LINES])
