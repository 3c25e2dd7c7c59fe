"""Runs that are labelled, fitted and ranked at a cut, in the process that computes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...tools.analysis.verdict import LEAST_IN_CLASS
from ...tools.base import ToolError
from ...tools.statistics.association.tree import DecisionTree
from ...tools.statistics.labels.classes import Labelled, label, label_at
from ...tools.statistics.shape.describe import DistributionShape
from .messages import ColumnRead, Refit, Refitted, Shaped
from .scenes import PlottedFactor, PlottedOutcomes

QUICK_DRAWS, ALL_DRAWS = 200, 2000
"""Permutations while a cut moves, and for the answer that stays."""


@dataclass(frozen=True)
class Fits(ABC):
    """Runs after warm-up."""

    outcomes: PlottedOutcomes
    shape: DistributionShape
    recorded_cut: float | None
    """None where nobody has labelled them."""

    @abstractmethod
    def explained(self, labelled: Labelled, exact: bool) -> tuple[DecisionTree, tuple[PlottedFactor, ...]]:
        """Fit the tree and rank the factors of a label."""

    @abstractmethod
    def column(self, name: str) -> ColumnRead:
        """Read one column over the runs that are labelled."""

    def shaped(self) -> Shaped:
        """Tell where modes and cut lie."""
        outcomes, cut = self.outcomes, self.recorded_cut
        if cut is None and not self.shape.all_equal:
            cut = label(outcomes.values, self.shape, outcomes.lower_is_better).classes.cut
        return Shaped(outcomes, tuple(mode.position for mode in self.shape.modes), cut)

    def refit(self, asked: Refit) -> Refitted:
        """Label, fit and rank at a cut."""
        labelled = label_at(self.outcomes.values, asked.cut, self.outcomes.lower_is_better)
        slow, runs = labelled.classes.n_slow, self.outcomes.values.size
        if (fewer := min(slow, runs - slow)) < LEAST_IN_CLASS:
            reason = f"The cut leaves {fewer} runs on one side, which needs {LEAST_IN_CLASS}."
            return Refitted(asked.cut, asked.exact, slow, runs, reason=reason)
        try:
            return Refitted(asked.cut, asked.exact, slow, runs, *self.explained(labelled, asked.exact))
        except ToolError as error:
            return Refitted(asked.cut, asked.exact, slow, runs, reason=str(error))
