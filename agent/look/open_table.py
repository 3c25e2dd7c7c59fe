"""A table in the process that computes: labelled, fitted and ranked with the tools' own functions."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from ...knowledge.errors import VgoError
from ...tools.analysis.analyse import columns, divisors, matters, trusted
from ...tools.analysis.verdict import LEAST_IN_CLASS
from ...tools.recorded.design import designs
from ...tools.recorded.read import read
from ...tools.recorded.shapes import Design, Wanted
from ...tools.statistics.association.factors import associate
from ...tools.statistics.association.tree import fit_tree
from ...tools.statistics.labels.classes import label, label_at
from ...tools.statistics.shape.describe import Shape, describe
from ...tools.statistics.values import FloatArray
from .asked import ColumnRead, Opened, Page, ReadPage, Refit, Refitted
from .pages import page_of, thinned
from .scenes import Factor, Outcomes, tree_of

QUICK_DRAWS, ALL_DRAWS = 200, 2000
"""Permutations while a cut moves, and for the answer that stays."""


@dataclass(frozen=True)
class OpenTable:
    """One group of runs, and the whole table for those who page through it."""

    source: str
    frame: pl.DataFrame
    design: Design
    """After warm-up."""
    shape: Shape

    @property
    def outcomes(self) -> Outcomes:
        """What is drawn."""
        design = self.design
        return Outcomes(design.outcome, design.unit, design.outcome_name, design.lower_is_better)

    def opened(self) -> Opened:
        """Tell what there is."""
        shape, outcome = self.shape, self.design.outcome
        cut = None if shape.all_equal else label(outcome, shape, self.design.lower_is_better).classes.cut
        return Opened(
            source=self.source,
            outcomes=self.outcomes,
            columns=self.design.names,
            rows=self.frame.height,
            header=tuple(self.frame.columns),
            modes=tuple(mode.position for mode in shape.modes),
            cut=cut,
            notes=self.design.warnings,
        )

    def refit(self, asked: Refit) -> Refitted:
        """Label, fit and rank at a cut."""
        began = time.perf_counter()
        design = self.design
        labelled = label_at(design.outcome, asked.cut, design.lower_is_better)
        slow, runs = labelled.classes.n_slow, design.outcome.size
        if min(slow, runs - slow) < LEAST_IN_CLASS:
            reason = f"The cut leaves {min(slow, runs - slow)} runs on one side, which needs {LEAST_IN_CLASS}."
            return Refitted(asked.cut, asked.exact, slow, runs, reason=reason)
        per, per_name = divisors(design)
        found = associate(
            columns(design),
            labelled.worse,
            design.outcome,
            per=per,
            per_name=per_name,
            ordered=design.ordered,
            permutations=ALL_DRAWS if asked.exact else QUICK_DRAWS,
            seed=1,
            explain=asked.exact,
        )
        kept = [place for place, name in enumerate(design.names) if name not in found.set_aside]
        names = [design.names[place] for place in kept]
        tree = fit_tree(design.values[:, kept], names, labelled.worse, seed=1, block=found.block)
        factors = tuple(
            Factor(
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
        seconds = time.perf_counter() - began
        grown = tree_of(tree.model_dump())
        return Refitted(asked.cut, asked.exact, slow, runs, grown, factors, found.p_value, seconds)

    def column(self, name: str) -> ColumnRead:
        """Read one column that may explain, or one that was set aside and holds numbers."""
        return thinned(name, self._values(name), self.design.outcome, self.design.units.get(name, ""))

    def page(self, asked: ReadPage) -> Page:
        """Read some rows."""
        return page_of(self.frame, self.source, asked)

    def _values(self, name: str) -> FloatArray:
        if name in self.design.names:
            return np.asarray(self.design.values[:, self.design.names.index(name)])
        if name not in self.frame.columns or not self.frame[name].dtype.is_numeric():
            raise VgoError(f"{self.source} has no column of numbers named {name}.")
        return self.frame[name].cast(pl.Float64).gather(self.design.rows).to_numpy()


def open_file(path: Path, outcome: str | None = None) -> OpenTable:
    """Read a recorded file or a run folder; of several groups, the one with most runs."""
    recorded = read(path)
    parts = designs(recorded, Wanted(outcome=outcome))
    group, design = max(parts, key=lambda part: part[1].outcome.size)
    if group:
        named = ", ".join(f"{name} {value}" for name, value in group.items())
        words = f"The largest of {len(parts)} groups is shown: {named}."
        design = replace(design, warnings=(words, *design.warnings))
    return _steady(recorded.source, recorded.frame, design)


def take_runs(outcomes: Outcomes, names: tuple[str, ...], values: FloatArray) -> OpenTable:
    """Take runs that are at hand; columns with gaps or without change explain nothing and are left out."""
    rows = np.flatnonzero(np.isfinite(outcomes.values))
    part = values[rows]
    varies = np.isfinite(part).all(axis=0) & (part != part[:1]).any(axis=0) if rows.size else np.zeros(len(names), bool)
    frame = pl.DataFrame({outcomes.name: outcomes.values, **{name: values[:, i] for i, name in enumerate(names)}})
    design = Design(
        outcome_name=outcomes.name,
        unit=outcomes.unit,
        lower_is_better=outcomes.lower_is_better,
        outcome=outcomes.values[rows],
        names=tuple(name for name, does in zip(names, varies, strict=True) if does),
        values=np.asfortranarray(part[:, varies]),
        rows=rows,
        ordered=True,
    )
    return _steady("these runs", frame, design)


def _steady(source: str, frame: pl.DataFrame, design: Design) -> OpenTable:
    """Leave out warm-up, as every analysis does."""
    design = trusted(design)
    shape = describe(design.outcome, ordered=design.ordered)
    after = design.after(shape.warm_up)
    return OpenTable(source, frame, after, shape)
