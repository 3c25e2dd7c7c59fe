"""Recorded runs after warm-up: labelled, fitted and ranked with the tools' own functions."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ...tools.analysis.analyse import columns, divisors, matters, trusted
from ...tools.analysis.verdict import LEAST_IN_CLASS
from ...tools.recorded.shapes import Observations
from ...tools.statistics.association.factors import associate
from ...tools.statistics.association.sample import sample
from ...tools.statistics.association.tree import DecisionTree, fit_tree
from ...tools.statistics.labels.classes import label, label_at
from ...tools.statistics.shape.describe import DistributionShape, describe
from ...tools.statistics.values import BoolArray, FloatArray
from .messages import ColumnRead, Refit, Refitted, Shaped
from .pages import thinned
from .scenes import PlottedFactor, PlottedOutcomes

QUICK_DRAWS, ALL_DRAWS = 200, 2000
"""Permutations while a cut moves, and for the answer that stays."""
QUICK_RUNS = 2_000
"""Runs that are looked at while a cut moves, drawn evenly from the classes; all of them for the answer that stays."""


@dataclass(frozen=True)
class SteadyRuns:
    """One group of runs."""

    source: str
    frame: pl.DataFrame
    design: Observations
    """After warm-up."""
    shape: DistributionShape

    def shaped(self) -> Shaped:
        """Tell where modes and cut lie."""
        design, shape = self.design, self.shape
        cut = None if shape.all_equal else label(design.outcome, shape, design.lower_is_better).classes.cut
        outcomes = PlottedOutcomes(design.outcome, design.unit, design.outcome_name, design.lower_is_better)
        return Shaped(outcomes, tuple(mode.position for mode in shape.modes), cut)

    def refit(self, asked: Refit) -> Refitted:
        """Label, fit and rank at a cut."""
        began = time.perf_counter()
        slow = label_at(self.design.outcome, asked.cut, self.design.lower_is_better).slow
        count, runs = int(slow.sum()), slow.size
        if min(count, runs - count) < LEAST_IN_CLASS:
            return Refitted(asked.cut, asked.exact, count, runs, reason=too_few(min(count, runs - count)))
        tree, factors, p_value = self._found(slow, asked.exact)
        seconds = time.perf_counter() - began
        return Refitted(asked.cut, asked.exact, count, runs, tree, factors, p_value, seconds)

    def column(self, name: str) -> ColumnRead:
        """Read one column that may explain, or one that was set aside and holds numbers."""
        return thinned(name, self._values(name), self.design.outcome, self.design.units.get(name, ""))

    def _found(self, slow: BoolArray, exact: bool) -> tuple[DecisionTree, tuple[PlottedFactor, ...], float]:
        design = self.design
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
        factors = (
            PlottedFactor(
                one.name,
                one.column,
                one.auc,
                one.p_value,
                one.r2,
                one.visible and matters(one),
                one.slow_median,
                one.fast_median,
            )
            for one in found.factors
        )
        return tree, tuple(factors), found.p_value

    def _values(self, name: str) -> FloatArray:
        if name in self.design.names:
            return np.asarray(self.design.values[:, self.design.names.index(name)])
        if name not in self.frame.columns or not self.frame[name].dtype.is_numeric():
            raise VgoError(f"{self.source} has no column of numbers named {name}.")
        return self.frame[name].cast(pl.Float64).gather(self.design.rows).to_numpy()


def too_few(runs: int) -> str:
    """Say that a class is too small."""
    return f"The cut leaves {runs} runs on one side, which needs {LEAST_IN_CLASS}."


def steady(source: str, frame: pl.DataFrame, design: Observations) -> SteadyRuns:
    """Leave out warm-up, as every analysis does."""
    design = trusted(design)
    shape = describe(design.outcome, ordered=design.ordered)
    return SteadyRuns(source, frame, design.after(shape.warm_up), shape)
