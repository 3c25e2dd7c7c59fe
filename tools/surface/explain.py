"""How much of the variability each setting explains: tests by analysis of variance, sizes beside them, and shares."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ...knowledge.errors import VgoError
from ..recorded.columns import nearest
from ..statistics.surface.variance import (
    FEWEST_IN_CELL,
    AnovaFactor,
    Share,
    Variance,
    analyse,
    deviations,
    replicates,
    shares,
)
from ..statistics.values import FiniteResult, FloatArray
from .axes import Level, SurfaceAxis
from .cells import CellOutcomes
from .fitted import Surface, forth
from .predict import read_config
from .stored import Fitted

MOST_LEVELS = 20
"""A number with more levels enters the analysis of variance as a straight line and a square."""
SPREADS = ("sd", "variance", "cv")
STEPS = 25
"""Points along a setting with more levels than this."""


def analyse_runs(cells: CellOutcomes, response: str) -> tuple[Variance | None, str]:
    """Test settings and pairs against the scatter within cells, and say what was tested; None where that cannot be.

    For the mean the outcome itself, by its logarithm where all runs are above 0; for a spread the deviations from the
    median of the cell (Brown and Forsythe). A percentile has no such test.
    """
    if cells.given != "runs" or (response not in SPREADS and response != "mean"):
        return None, ""
    enough = FEWEST_IN_CELL if response in SPREADS else 1
    kept = [place for place, runs in enumerate(cells.outcomes) if len(runs) >= enough]
    if response == "cv":
        kept = [place for place in kept if cells.outcomes[place].mean()]
    if len(kept) < 2:
        return None, ""
    runs, of = _tested([cells.outcomes[place] for place in kept], cells.outcome, response)
    factors = [factor(axis, [cells.columns[axis.name][place] for place in kept]) for axis in cells.axes]
    told = replicates(runs)
    if not told.squares:
        return None, ""  # runs of a cell are all the same: there is nothing to test against
    return analyse(factors, told.means, told), of


def factor(axis: SurfaceAxis, values: Sequence[Level]) -> AnovaFactor:
    """Give a setting to the analysis: by its levels, or as a quantity where it has many."""
    if axis.scale == "named" or len(axis.levels) <= MOST_LEVELS:
        return AnovaFactor(axis.name, np.array([axis.levels.index(value) for value in values]), None)
    return AnovaFactor(axis.name, None, axis.encode(values)[:, 0])


def _tested(runs: list[FloatArray], outcome: str, response: str) -> tuple[list[FloatArray], str]:
    if response in SPREADS:
        relative = response == "cv"
        of = f"the deviations of {outcome} from the median of its cell{', in parts of its mean' if relative else ''}"
        return [deviations(one, relative) for one in runs], f"{of} (Brown and Forsythe)"
    if all((one > 0).all() for one in runs):
        return [np.log(one) for one in runs], f"log {outcome}"
    return runs, outcome


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


def _fitted(surface: Surface, unit: FloatArray) -> FloatArray:
    """Predict, on the scale of the fit, where each column of numbers from 0 to 1 chooses a level or a place."""
    columns = {axis.name: _chosen(axis, column) for axis, column in zip(surface.record.axes, unit.T, strict=True)}
    found = surface.at(columns)
    return np.log(found) if surface.record.logarithmic else found


def _chosen(axis: SurfaceAxis, unit: FloatArray) -> list[Level]:
    place = np.minimum((unit * len(axis.levels)).astype(int), len(axis.levels) - 1)
    return [axis.levels[at] for at in place]


class Slice(FiniteResult):
    """Predictions over a grid."""

    response: str
    axes: tuple[str, ...]
    """One or two settings."""
    levels: tuple[tuple[Level, ...], ...]
    held: dict[str, Level]
    values: tuple[tuple[float, ...], ...]
    """A row for each level of the second setting (one row without it), a column for each of the first."""


def cut(surface: Surface, names: Sequence[str] = (), at: Sequence[str] = ()) -> Slice:
    """Cut along the named settings, at most two; without names along the two that explain most.

    Settings that `at` does not hold are held at the middle one of their levels.
    """
    axes = {axis.name: axis for axis in surface.record.axes}
    held = read_config(surface, list(at))
    for name in names:
        if name not in axes:
            raise VgoError(f"The surface has no setting {name} (--axes): {nearest(name, list(axes))}.")
        if name in held:
            raise VgoError(f"{name} is given to --axes and to --at: give it to one.")
    if len(names) > 2:
        raise VgoError("--axes takes one setting or two: hold the others with --at.")
    shown = [axes[name] for name in names] or _strongest(surface, held)
    for axis in surface.record.axes:
        if axis not in shown and axis.name not in held:
            held[axis.name] = _middle(surface, axis, held)
    levels = [_levels(axis) for axis in shown]
    points = list(itertools.product(*levels[::-1]))
    columns = {axis.name: list(column) for axis, column in zip(shown[::-1], zip(*points, strict=True), strict=True)}
    columns |= {name: [value] * len(points) for name, value in held.items()}
    return Slice(
        response=surface.record.response,
        axes=tuple(axis.name for axis in shown),
        levels=tuple(map(tuple, levels)),
        held=held,
        values=tuple(map(tuple, surface.at(columns).reshape(-1, len(levels[0])).tolist())),
    )


def _strongest(surface: Surface, held: dict[str, Level]) -> list[SurfaceAxis]:
    """Choose the two free settings that have a part in most of the variability."""
    axes = surface.record.axes
    drawn = shares(lambda unit: _fitted(surface, unit), [axis.name for axis in axes], surface.record.seed, 256)
    order = sorted(zip(axes, drawn, strict=True), key=lambda pair: -pair[1].total)
    free = [axis for axis, _ in order if axis.name not in held]
    if not free:
        raise VgoError("--at holds every setting: leave one free, or use `vgo-agent surface predict`.")
    return free[:2]


def _middle(surface: Surface, axis: SurfaceAxis, held: dict[str, Level]) -> Level:
    """Take the level that most cells have, of those that share what is held; of equally many the middle one."""
    columns = surface.record.columns
    rows = range(len(surface.record.values))
    alike = [row for row in rows if all(columns[name][row] == value for name, value in held.items())] or list(rows)
    counts = [sum(columns[axis.name][row] == level for row in alike) for level in axis.levels]
    most = [level for level, count in zip(axis.levels, counts, strict=True) if count == max(counts)]
    return most[len(most) // 2]


def _levels(axis: SurfaceAxis) -> list[Level]:
    if axis.scale == "named" or len(axis.levels) <= STEPS:
        return list(axis.levels)
    numbers = axis.numbers
    spaced = np.geomspace if axis.scale == "log" else np.linspace
    return [float(value) for value in spaced(numbers[0], numbers[-1], STEPS)]
