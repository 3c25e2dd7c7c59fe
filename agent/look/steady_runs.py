"""Recorded runs after warm-up: labelled, fitted and ranked with the tools' own functions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ...tools.analysis.analyse import columns, divisors, matters, trusted
from ...tools.recorded.shapes import Observations
from ...tools.statistics.association.factors import associate
from ...tools.statistics.association.sample import sample
from ...tools.statistics.association.tree import DecisionTree, fit_tree
from ...tools.statistics.labels.classes import Labelled
from ...tools.statistics.shape.describe import describe
from ...tools.statistics.values import FloatArray
from .fits import ALL_DRAWS, QUICK_DRAWS, Fits
from .messages import ColumnRead
from .open_table import outcomes_of
from .pages import thinned
from .scenes import PlottedFactor, plotted

QUICK_RUNS = 2_000
"""Runs that are looked at while a cut moves, drawn evenly from the classes; all of them for the answer that stays."""


@dataclass(frozen=True)
class SteadyRuns(Fits):
    """One group of runs."""

    source: str
    frame: pl.DataFrame
    design: Observations
    """After warm-up."""

    def column(self, name: str) -> ColumnRead:
        """Read one column that may explain, or one that was set aside and holds numbers."""
        return thinned(name, self._values(name), self.design.outcome, self.design.units.get(name, ""))

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
