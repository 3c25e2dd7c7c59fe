"""What is asked of a recorded table, beside its columns."""

from __future__ import annotations

from dataclasses import dataclass

from ..statistics.labels.cut import AUTOMATIC, CutRule


@dataclass(frozen=True)
class AnalysisOptions:
    """How to cut, how sure to be, how much chance to draw."""

    cut: CutRule = AUTOMATIC
    alpha: float = 0.05
    """Chance of naming any cause where there is none."""
    steady_cv: float = 0.01
    """At or below this coefficient of variation there is nothing to reduce."""
    depth: int = 3
    permutations: int = 2000
    seed: int = 1
    explain: bool = True
    """Whether tree, importance and intervals are wanted beside the verdict."""
