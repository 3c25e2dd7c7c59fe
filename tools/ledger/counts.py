"""How often something happened in opened runs: failed calls, tasks that were started, moves to another CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...layers.probes.opened import OpenedRun
from ..statistics.values import BoolArray, FiniteResult, FloatArray

MOVES = "moves to another CPU"


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
