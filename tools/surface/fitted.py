"""A surface: fitted models of a response, the errors they make, and predictions with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from sklearn.dummy import DummyRegressor
from threadpoolctl import threadpool_limits

from ...knowledge.errors import VgoError
from ..statistics.surface.catalogue import MODELS, HybridRecipe
from ..statistics.surface.model import (
    MOST_GROUPS,
    Errors,
    SurfaceEstimator,
    SurfaceModel,
    Untuned,
    errors,
    groups,
    unseen,
)
from ..statistics.values import WIDTHLESS, FiniteResult, FloatArray
from .axes import Level, SurfaceAxis, encode
from .cells import FEWEST_CELLS, CellOutcomes, response_of

WIDEST = 0.25
"""No prediction lies further outside the measured values than this share of their range, on the scale of the fit."""
CONFIDENCE = 0.9
FOLDS, FEW = 5, 100
"""Folds in which errors are found; of fewer cells ten, since each counts."""
NO_MODEL = "mean of the others"
"""Predicts the same everywhere; it is scored beside the models and never chosen."""
FEWEST_ERRORS = 10
"""Errors on unseen cells that an interval needs."""
MOST_INNER = 6
"""Levels of a setting that are left out whole, one after the other."""


class Scored(FiniteResult):
    """One model and its errors on cells that it did not see."""

    model: str
    errors: Errors


class KeptOut(FiniteResult):
    """Predictions of cells that had no part in the fit, nor in the choice of the model."""

    cells: int
    model: str
    """That the other cells choose, which may be another than all of them choose."""
    errors: Errors
    without: float
    """Relative error of the mean of the other cells on these."""
    inside: int | None
    """Cells within the 90 % interval of their prediction; None where it has none."""


class SurfaceRecord(FiniteResult):
    """All that a surface is made of, so that it can be stored and fitted again to the same."""

    response: str
    outcome: str
    unit: str
    lower_is_better: bool
    source: str
    axes: tuple[SurfaceAxis, ...]
    columns: dict[str, tuple[Level, ...]]
    """Setting to its value in each cell."""
    values: tuple[float, ...]
    """The response of each cell."""
    runs: tuple[int, ...]
    logarithmic: bool
    """Fitted to the logarithm, so that nothing negative can be predicted."""
    model: str
    weights: dict[str, float] = {}
    """Of the members, where the model is the hybrid."""
    how: str
    scored: tuple[Scored, ...]
    """The models, and the mean of the others without one, the best first."""
    unseen: tuple[float | None, ...]
    """Each cell's prediction by the chosen model without it; None where it was not predicted."""
    seed: int
    notes: tuple[str, ...]
    kept_out: KeptOut | None = None
    level_error: float | None = None
    """On the scale of the fit, of nine in ten cells of inner levels that were left out whole; None where no setting has
    three levels. What lies between levels is farther from the cells than a cell that was left out.
    """

    def error(self, model: str) -> float | None:
        """Give the relative error of a model; None where it was not scored."""
        return next((one.errors.relative for one in self.scored if one.model == model), None)


class Prediction(FiniteResult):
    """The response at one configuration."""

    value: float
    low: float | None
    high: float | None
    """A 90 % interval for the response of a cell that is measured there; None with fewer than ten cells, or where nine
    tenths of them were predicted without any error; between the levels of settings none of which has three, too."""
    extrapolated: str
    """Why it is not to be relied on; empty inside what was measured."""
    measured: float | None
    """What was measured at exactly this configuration."""


@dataclass(frozen=True)
class Surface:
    """A record with its model, ready to be asked."""

    record: SurfaceRecord
    points: FloatArray
    """Shape (cells, columns): the cells in the space of the surface."""
    model: SurfaceModel
    margin: float | None
    """Half the width of the interval, on the scale of the fit."""

    def at(self, columns: Mapping[str, Sequence[Level]]) -> FloatArray:
        """Predict at configurations, shape (configurations,)."""
        return back(self.record, self.model.predict(encode(self.record.axes, columns)))

    def interval(self, values: FloatArray, between: bool = False) -> tuple[FloatArray, FloatArray] | None:
        """Give the ends of the interval about predictions, `between` measured levels or at them; None without one."""
        margin, apart = self.margin, self.record.level_error if between else 0.0
        if margin is None or apart is None:
            return None
        margin = max(margin, apart)
        if self.record.logarithmic:
            return values * math.exp(-margin), values * math.exp(margin)
        return values - margin, values + margin

    def apart(self, points: FloatArray) -> FloatArray:
        """Give the distance of points to the nearest cell, in the space of the surface."""
        return np.asarray(cKDTree(self.points).query(points)[0], dtype=np.float64)

    @property
    def widest_gap(self) -> float:
        """The largest distance from a cell to its nearest neighbour."""
        distances = np.asarray(cKDTree(self.points).query(self.points, k=[2])[0])
        return float(distances.max())


def surface(record: SurfaceRecord) -> Surface:
    """Fit the model of a record to its cells."""
    points = encode(record.axes, record.columns)
    values = np.array(record.values)
    model = recipe_of(record.model, record.weights).fit(points, forth(values, record.logarithmic))
    told = np.array([np.nan if value is None else value for value in record.unseen], dtype=np.float64)
    return Surface(record, points, model, _margin(values, told, record.logarithmic))


def recipe_of(model: str, weights: Mapping[str, float]) -> SurfaceEstimator:
    """Give the recipe of a model; the hybrid with its weights."""
    recipe = MODELS[model]
    return HybridRecipe(recipe.members, recipe.seed, weights) if isinstance(recipe, HybridRecipe) else recipe


def forth(values: FloatArray, logarithmic: bool) -> FloatArray:
    """Take a response to the scale of the fit; a zero counts as half of the smallest value above it."""
    if not logarithmic:
        return values
    taken: FloatArray = np.log(np.maximum(values, values[values > 0].min() / 2))
    return taken


def back(record: SurfaceRecord, fitted: FloatArray) -> FloatArray:
    """Take predictions back to the unit of the response, and hold them near the measured values."""
    measured = forth(np.array(record.values), record.logarithmic)
    room = WIDEST * float(np.ptp(measured))
    held: FloatArray = np.clip(fitted, measured.min() - room, measured.max() + room)
    return np.exp(held) if record.logarithmic else held


def _margin(values: FloatArray, told: FloatArray, logarithmic: bool) -> float | None:
    """Take the quantile of the errors that holds for a new cell (Barber et al., Annals of Statistics 49.1, 2021)."""
    seen = np.isfinite(told)
    missed = np.abs(forth(values, logarithmic)[seen] - (np.log(told[seen]) if logarithmic else told[seen]))
    margin = _held(missed)
    # No errors at all are no proof that there will be none.
    return margin if margin and margin > WIDTHLESS * float(np.ptp(forth(values, logarithmic))) else None


def _held(missed: FloatArray) -> float | None:
    """Give the error that nine in ten new ones keep to; None where there are too few to tell."""
    place = math.ceil((len(missed) + 1) * CONFIDENCE)
    return float(np.sort(missed)[place - 1]) if FEWEST_ERRORS <= len(missed) >= place else None


def _level_error(record: SurfaceRecord, y: FloatArray) -> float | None:
    """Leave inner levels of each setting out whole, and predict their cells from the other levels; shape (cells,)."""
    missed = list[FloatArray]()
    for axis in (one for one in record.axes if one.scale != "named"):
        inner = axis.levels[1:-1]
        for level in inner[:: math.ceil(len(inner) / MOST_INNER) or 1]:
            out = np.array([value == level for value in record.columns[axis.name]])
            rest = axis.model_copy(update={"levels": tuple(one for one in axis.levels if one != level)})
            points = encode([rest if one is axis else one for one in record.axes], record.columns)
            if out.any() and (~out).sum() >= FEWEST_CELLS:
                model = recipe_of(record.model, record.weights).fit(points[~out], y[~out])
                missed.append(np.abs(y[out] - model.predict(points[out])))
    return _held(np.concatenate(missed)) if missed else None


def fit_surface(
    cells: CellOutcomes, response: str, models: Sequence[str] = tuple(MODELS), one_by_one: bool = False, seed: int = 1
) -> Surface:
    """Score the models on cells they did not see, and fit the best one to all cells."""
    unknown = next((name for name in models if name not in MODELS), None)
    if unknown or not models:
        raise VgoError(f"There is no model {unknown}: choose among {', '.join(MODELS)}.")
    found = response_of(cells, response)
    values = found.values[found.known]
    _check(values, cells, response)
    columns = {
        name: tuple(value for value, known in zip(column, found.known, strict=True) if known)
        for name, column in cells.columns.items()
    }
    logarithmic = bool((values >= 0).all())
    record = SurfaceRecord(
        response=response,
        outcome=cells.outcome,
        unit="" if cells.given == "variance" else unit_of(response, cells.unit),
        lower_is_better=cells.lower_is_better,
        source=cells.source,
        axes=cells.axes,
        columns=columns,
        values=tuple(map(float, values)),
        runs=tuple(len(one) for one, known in zip(cells.outcomes, found.known, strict=True) if known),
        logarithmic=logarithmic,
        model=models[0],
        how="",
        scored=(),
        unseen=(),
        seed=seed,
        notes=(*cells.notes, *found.notes),
    )
    return fitted_again(record, models, one_by_one)


def fitted_again(record: SurfaceRecord, models: Sequence[str], one_by_one: bool = False) -> Surface:
    """Score models on the cells of a record, and fit the best one."""
    with threadpool_limits(limits=1):  # the matrices are small: threads that spin for each other took ten times the CPU
        return surface(_scored(record, models, one_by_one))


def _scored(record: SurfaceRecord, models: Sequence[str], one_by_one: bool) -> SurfaceRecord:
    """Find the errors of each model, and choose the one with the smallest."""
    points, values = encode(record.axes, record.columns), np.array(record.values)
    y = forth(values, record.logarithmic)
    group = groups(len(y), record.seed, MOST_GROUPS if one_by_one or len(y) < FEW else FOLDS)
    recipes = {**{name: MODELS[name] for name in models}, NO_MODEL: Untuned(DummyRegressor().fit)}
    told = {name: back(record, unseen(recipe, points, y, group, one_by_one)) for name, recipe in recipes.items()}
    scored = sorted(
        (Scored(model=name, errors=errors(values, told[name])) for name in recipes), key=lambda one: one.errors.relative
    )
    best = next(one.model for one in scored if one.model != NO_MODEL)
    recipe = MODELS[best].tuned(points, y)
    whole = int(group.max()) + 1
    how = "leave-one-out" if one_by_one else f"{whole}-fold" if scored[0].errors.points == len(y) else "a random tenth"
    chosen = record.model_copy(
        update={
            "model": best,
            "weights": dict(recipe.weights) if isinstance(recipe, HybridRecipe) else {},
            "how": how,
            "scored": tuple(scored),
            "unseen": tuple(float(value) if np.isfinite(value) else None for value in told[best]),
        }
    )
    return chosen.model_copy(update={"level_error": _level_error(chosen, y)})


def unit_of(response: str, unit: str) -> str:
    """Give the unit of a response to an outcome with this unit."""
    if response == "cv":
        return ""
    return f"{unit}^2" if response == "variance" and unit else unit


def _check(values: FloatArray, cells: CellOutcomes, response: str) -> None:
    if len(values) < 8:
        raise VgoError(f"{len(values)} configurations have a {response}, and a surface needs 8: record more of them.")
    if np.ptp(values) == 0:
        raise VgoError(
            f"The {response} of {cells.outcome} is {values[0]:g} in every configuration: there is nothing to model; "
            "choose another --response or --outcome."
        )
