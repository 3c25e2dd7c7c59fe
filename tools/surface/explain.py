"""How much of the variability each setting explains: tests by analysis of variance, sizes beside them, and shares."""

from __future__ import annotations

import numpy as np

from ..statistics.surface.shares import Share, shares
from ..statistics.surface.variance import Variance, analyse
from ..statistics.values import FiniteResult, FloatArray
from .axes import Level, SurfaceAxis
from .by_runs import analyse_runs, factor
from .fitted import Surface, forth
from .stored import Fitted


class SurfaceExplanation(FiniteResult):
    """Both answers."""

    variance: Variance | None
    """Of the measured responses, one value a cell; None where the cells are too few for it."""
    by_runs: Variance | None = None
    """Of replicated runs: of the outcome where the mean is modelled, of deviations from the median for a spread."""
    by_runs_of: str = ""
    """What that table is of."""
    shares: tuple[Share, ...]
    """Of the fitted surface, over all combinations of levels."""
    notes: tuple[str, ...]


def explain(fitted: Fitted) -> SurfaceExplanation:
    """Analyse the measured responses, on the scale of the fit, the runs behind them, and the fitted surface."""
    surface = fitted.response
    record = surface.record
    factors = [factor(axis, record.columns[axis.name]) for axis in record.axes]
    variance = analyse(factors, forth(np.array(record.values), record.logarithmic))
    drawn = shares(lambda columns: _fitted(surface, columns), [axis.name for axis in record.axes], record.seed)
    notes = [] if variance else ["There are too few cells for an analysis of variance."]
    whole = float(np.prod([len(axis.levels) for axis in record.axes]))
    if whole > 1.2 * len(record.values):
        notes.append(
            f"The shares stand for all {whole:,.0f} combinations of the levels; {len(record.values)} of them were "
            "measured, and the rest is what the model makes of them."
        )
    by_runs, of = analyse_runs(fitted.cells, record.response) if fitted.cells else (None, "")
    return SurfaceExplanation(variance=variance, by_runs=by_runs, by_runs_of=of, shares=drawn, notes=tuple(notes))


def effects(surface: Surface) -> list[tuple[SurfaceAxis, float]]:
    """Give each axis the share of variability that it has a part in."""
    drawn = shares(
        lambda columns: _fitted(surface, columns), [axis.name for axis in surface.record.axes], surface.record.seed, 256
    )
    return [(axis, one.total) for axis, one in zip(surface.record.axes, drawn, strict=True)]


def _fitted(surface: Surface, unit: FloatArray) -> FloatArray:
    """Predict, on the scale of the fit, where each column of numbers from 0 to 1 chooses a level or a place."""
    columns = {axis.name: _chosen(axis, column) for axis, column in zip(surface.record.axes, unit.T, strict=True)}
    found = surface.at(columns)
    return np.log(found) if surface.record.logarithmic else found


def _chosen(axis: SurfaceAxis, unit: FloatArray) -> list[Level]:
    place = np.minimum((unit * len(axis.levels)).astype(int), len(axis.levels) - 1)
    return [axis.levels[at] for at in place]
