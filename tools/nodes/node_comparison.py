"""The answer to "which node, and why?"."""

from __future__ import annotations

from typing import Literal

from ..analysis.analysis import Analysis
from ..statistics.fleet.levels import Drained
from ..statistics.fleet.shares import NodeDifference, Shares
from ..statistics.values import ColumnCorrelation, FiniteResult, IntervalEstimate

Verdict = Literal["odd nodes", "no odd node", "cannot tell"]


class NodeDeviation(FiniteResult):
    """How one node compares with the fleet."""

    ratio: float
    """To the median node."""
    interval: IntervalEstimate
    """Simultaneous over all nodes, as far as runs tell."""
    p_value: float | None
    """Adjusted for all nodes, for speed and spread together; None with two nodes."""
    odd: bool


class NodeSummary(FiniteResult):
    """One node."""

    name: str
    runs: int
    median: float
    """Of the outcome."""
    level: NodeDeviation
    spread: NodeDeviation | None
    """None where nothing varies on some node."""
    differs: tuple[NodeDifference, ...] = ()
    """Of odd nodes."""

    @property
    def odd(self) -> bool:
        """Odd in speed or in spread."""
        return self.level.odd or bool(self.spread and self.spread.odd)


class NodeComparison(FiniteResult):
    """Verdict first, then what it rests on."""

    verdict: Verdict
    reason: str
    outcome: str
    unit: str
    lower_is_better: bool
    runs: int
    nodes: tuple[NodeSummary, ...]
    """The slowest first."""
    shares: Shares
    alike: bool
    """Nodes were taken to be alike, since fewer than six cannot tell how much ordinary ones differ."""
    ordinary_sd: float
    """How much ordinary nodes differ, as a ratio less one."""
    margin: float
    within: Analysis
    """Of the runs of each node about that node."""
    between: tuple[ColumnCorrelation, ...]
    drain: tuple[str, ...] = ()
    """Slow or unsteady nodes to take out; fast and steady ones are odd and welcome."""
    drained: Drained | None = None
    """All runs without them."""
    warnings: tuple[str, ...] = ()
