"""Runs that are labelled, fitted and ranked at a cut with the tools' own functions, in the process that computes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ...tools.analysis.analyse import columns, divisors, matters, trusted
from ...tools.record import ToolError
from ...tools.recorded.recorded import Observations
from ...tools.statistics.association.factors import associate
from ...tools.statistics.association.tree import DecisionTree, fit_tree, sample
from ...tools.statistics.labels.classes import Labelled, label, label_at
from ...tools.statistics.shape.describe import DistributionShape, describe
from ...tools.statistics.values import LEAST_IN_CLASS, FloatArray, r_squared
from .dots import Scatter
from .messages import Looking, Refit, Refitted
from .scenes import PlottedFactor, PlottedOutcomes, outcomes_of, plotted

QUICK_RUNS = 2_000
"""Runs that are looked at while a cut moves, drawn evenly from the classes; all of them for the answer that stays."""
MOST_DRAWN = 5_000
"""Points of a scatter: more than any terminal has cells for."""
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
    def column(self, name: str) -> Scatter:
        """Read one column over the runs that are labelled."""

    def shaped(self) -> Looking:
        """Tell where modes and cut lie."""
        outcomes, cut = self.outcomes, self.recorded_cut
        if cut is None and not self.shape.all_equal:
            cut = label(outcomes.values, self.shape, outcomes.lower_is_better).classes.cut
        return Looking(outcomes, cut, tuple(mode.position for mode in self.shape.modes))

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


@dataclass(frozen=True)
class SteadyRuns(Fits):
    """One group of recorded runs after warm-up."""

    source: str
    frame: pl.DataFrame
    design: Observations
    """After warm-up."""

    def column(self, name: str) -> Scatter:
        """Read one column that may explain, or one that was set aside and holds numbers."""
        return thinned(name, self._values(name), self.outcomes, self.design.units.get(name, ""))

    def explained(self, labelled: Labelled, exact: bool) -> tuple[DecisionTree, tuple[PlottedFactor, ...]]:
        """Look at a sample of the runs while a cut moves."""
        design, slow = self.design, labelled.slow
        if not exact and slow.size > QUICK_RUNS:
            rows = sample(slow.astype(np.int64), QUICK_RUNS, 1)
            design, slow = replace(design, outcome=design.outcome[rows], values=design.values[rows]), slow[rows]
        per, per_name = divisors(design)
        found = associate(
            columns(design),
            slow.astype(np.int64),
            design.outcome,
            per=per,
            per_name=per_name,
            ordered=design.ordered,
            permutations=ALL_DRAWS if exact else QUICK_DRAWS,
            seed=1,
            explain=exact,
        )
        kept = [place for place, name in enumerate(design.names) if name not in found.set_aside]
        names = [design.names[place] for place in kept]
        tree = fit_tree(design.values[:, kept], names, slow, seed=1, block=found.block)
        return tree, tuple(plotted(one, visible=one.visible and matters(one)) for one in found.factors)

    def _values(self, name: str) -> FloatArray:
        if name in self.design.names:
            return np.asarray(self.design.values[:, self.design.names.index(name)])
        if name not in self.frame.columns or not self.frame[name].dtype.is_numeric():
            raise VgoError(f"{self.source} has no column of numbers named {name}.")
        return self.frame[name].cast(pl.Float64).gather(self.design.rows).to_numpy()


def steady(source: str, frame: pl.DataFrame, design: Observations) -> SteadyRuns:
    """Leave out warm-up, as every analysis does."""
    design = trusted(design)
    shape = describe(design.outcome, ordered=design.ordered)
    design = design.after(shape.warm_up)
    return SteadyRuns(outcomes_of(design), shape, None, source, frame, design)


def thinned(name: str, values: FloatArray, outcomes: PlottedOutcomes, unit: str) -> Scatter:
    """Draw some runs where there are too many, the same at every call; R2 is of all."""
    rows = np.arange(values.size)
    if rows.size > MOST_DRAWN:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_DRAWN, replace=False))
    shown = replace(outcomes, values=outcomes.values[rows])
    return Scatter(name, values[rows], shown, unit, r_squared(values, outcomes.values))
