"""Whether slow runs call a function more often: by the counts of the layer `calls`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...layers.probes.elf_symbols import SPINNING
from ..statistics.association.mix import ALPHA, going_with
from ..statistics.ranks import centred_ranks, ranks_of
from ..statistics.values import BoolArray, FiniteResult, FloatArray
from .split import SplitRuns

CALLS = "calls."
"""Columns of that layer begin so."""
LEAST_GROWTH = 0.1
"""Of what the time grows by: a count that grows by less leaves it to what each call takes."""
NORMAL_95 = 1.96
ONCE = re.compile(r"_*(main|start|start_thread|libc_start_(main|call_main)\w*|clone3?|wmain|Py_(RunMain|BytesMain))")
"""Functions that begin a program or a thread: to count their calls tells nothing."""
SYMBOL = re.compile(r"[\w.]+(::~?[\w.]+)*")


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
