"""Ask a surface: about one configuration, for the best one, and for the trade between mean and spread."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ...knowledge.errors import VgoError
from ..recorded.columns import nearest
from ..statistics.values import BoolArray, FiniteResult, FloatArray, IntArray
from ..sweep.where import condition
from .axes import Level, SurfaceAxis, encode
from .fitted import Prediction, Surface
from .stored import Fitted

MOST_HULL = 5000
"""Cells up to which it is asked whether a configuration lies between them."""
MOST_CANDIDATES = 20_000
SHOWN = 10


def predict(surface: Surface, config: Mapping[str, Level]) -> Prediction:
    """Predict the response at one configuration, with its interval, and say whether that is extrapolation.

    `config` gives every setting of the surface a number or a name. Raises VgoError for a setting or name it lacks.
    """
    axes = surface.record.axes
    known = [axis.name for axis in axes]
    for name in config:
        if name not in known:
            raise VgoError(f"The surface has no setting {name}: {nearest(name, known)}.")
    missing = next((axis for axis in axes if axis.name not in config), None)
    if missing:
        raise VgoError(f"{missing.name} has no value: add {missing.name}=VALUE, for example {_example(missing)}.")
    columns = {name: [_checked(axis, config[name])] for axis, name in zip(axes, known, strict=True)}
    point = encode(axes, columns)
    value = surface.at(columns)
    between = any(axis.scale != "named" and columns[axis.name][0] not in axis.levels for axis in axes)
    low, high = (end.item() for end in ends) if (ends := surface.interval(value, between)) else (None, None)
    return Prediction(
        value=value.item(),
        low=low,
        high=high,
        extrapolated=_outside(surface, point[0], {name: column[0] for name, column in columns.items()}),
        measured=_measured(surface, point[0]),
    )


def read_config(surface: Surface, words: list[str]) -> dict[str, Level]:
    """Read `name=value` words."""
    axes = {axis.name: axis for axis in surface.record.axes}
    found: dict[str, Level] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise VgoError(f"{word} is not SETTING=VALUE: write, for example, {_example(next(iter(axes.values())))}.")
        if name not in axes:
            raise VgoError(f"The surface has no setting {name}: {nearest(name, list(axes))}.")
        found[name] = axes[name].read(value)
    return found


def _checked(axis: SurfaceAxis, value: Level) -> Level:
    return axis.read(str(value) if axis.scale == "named" or isinstance(value, str) else repr(value))


def _example(axis: SurfaceAxis) -> str:
    level = axis.levels[0]
    return f"{axis.name}={level}" if isinstance(level, str) else f"{axis.name}={level:g}"


def _measured(surface: Surface, point: FloatArray) -> float | None:
    same = np.flatnonzero((np.abs(surface.points - point) < 1e-12).all(axis=1))
    return surface.record.values[int(same[0])] if same.size else None


def _outside(surface: Surface, point: FloatArray, config: Mapping[str, Level]) -> str:
    for axis in surface.record.axes:
        if axis.scale == "named":
            continue
        value, levels = float(config[axis.name]), axis.numbers
        if not levels[0] <= value <= levels[-1]:
            return f"{axis.name}={value:g} lies outside what was measured, {levels[0]:g} to {levels[-1]:g}"
    apart = float(surface.apart(point[None])[0])
    if apart <= 1e-12:
        return ""
    if apart > 1.5 * surface.widest_gap:
        return "no configuration near it was measured"
    if len(surface.points) <= MOST_HULL and not _between(surface.points, point):
        return "it lies beyond the measured configurations, not between them"
    return ""


def _between(points: FloatArray, point: FloatArray) -> bool:
    """Tell whether a point is a weighted mean of the others, that is, in their convex hull."""
    rows = np.vstack((points.T, np.ones(len(points))))
    solved = linprog(np.zeros(len(points)), A_eq=rows, b_eq=np.append(point, 1.0), bounds=(0, None), method="highs")
    return bool(solved.status == 0)


class PredictedCell(FiniteResult):
    """One configuration with what is predicted for it."""

    config: dict[str, Level]
    response: float
    mean: float | None
    measured: bool


class Best(FiniteResult):
    """The answer of `surface best`."""

    response: str
    goal: str
    """What was minimised."""
    subject_to: str
    best: PredictedCell
    prediction: Prediction
    """Of what was minimised, with its interval."""
    next_best: tuple[PredictedCell, ...]
    front: tuple[PredictedCell, ...]
    """From the best mean to the smallest response; empty where no mean is known."""
    candidates: int
    allowed: int
    near: int
    """Allowed candidates whose interval reaches below the value of the best one."""
    left_out: int
    """Combinations of levels far from all that was measured."""
    steadiest_measured: PredictedCell
    """The allowed configuration with the smallest measured response."""


@dataclass(frozen=True)
class Field:
    """All candidates with their predictions, in step."""

    columns: dict[str, list[Level]]
    response: FloatArray
    mean: FloatArray | None
    measured: IntArray
    """Index of the cell, or -1."""
    left_out: int

    def candidate(self, place: int) -> PredictedCell:
        """Describe one."""
        return PredictedCell(
            config={name: column[place] for name, column in self.columns.items()},
            response=float(self.response[place]),
            mean=None if self.mean is None else float(self.mean[place]),
            measured=bool(self.measured[place] >= 0),
        )


def field(fitted: Fitted, seed: int = 1) -> Field:
    """Predict at the measured cells and at all combinations of their levels that lie near one."""
    record = fitted.response.record
    combined = _combinations(record.axes, seed)
    there = {row: place for place, row in enumerate(zip(*record.columns.values(), strict=True))}
    new = [row for row in combined if row not in there]
    near = _near(fitted.response, new)
    rows = [*there, *(row for row, close in zip(new, near, strict=True) if close)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(record.columns)}
    return Field(
        columns=columns,
        response=fitted.response.at(columns),
        mean=fitted.mean.at(columns) if fitted.mean else None,
        measured=np.array([there.get(row, -1) for row in rows]),
        left_out=len(new) - int(near.sum()),
    )


def best(fitted: Fitted, goal: str, subject_to: str = "", seed: int = 1) -> tuple[Best, Field]:
    """Find the candidate with the smallest `goal` (the response or the mean) that meets `subject_to`."""
    record, found = fitted.response.record, field(fitted, seed)
    objective = _objective(fitted, found, goal)
    allowed = _allowed(fitted, found, subject_to)
    if not allowed.any():
        raise VgoError(f"No configuration meets {subject_to}: allow more.")
    order = [int(place) for place in _ordered(objective, found, record.lower_is_better) if allowed[place]]
    first = found.candidate(order[0])
    asked = fitted.mean if goal == "mean" and fitted.mean else fitted.response
    told = predict(asked, first.config)
    cells = [place for place in order if found.measured[place] >= 0]
    steadiest = min(cells, key=lambda place: record.values[found.measured[place]], default=order[0])
    cost = None if found.mean is None else _cost(record.lower_is_better, found.mean)
    front = () if cost is None else pareto_front(cost, found.response).tolist()
    return Best(
        response=record.response,
        goal=goal,
        subject_to=subject_to,
        best=first,
        prediction=told,
        next_best=tuple(found.candidate(place) for place in order[1:SHOWN]),
        front=tuple(found.candidate(place) for place in front),
        candidates=len(objective),
        allowed=len(order),
        near=_undecided(asked, objective[order]),
        left_out=found.left_out,
        steadiest_measured=found.candidate(steadiest),
    ), found


def _ordered(objective: FloatArray, found: Field, lower_is_better: bool) -> IntArray:
    """Order by the objective; of equal ones that with the better mean comes first."""
    mean = np.zeros(len(objective)) if found.mean is None else _cost(lower_is_better, found.mean)
    return np.lexsort((mean, np.round(np.log(objective) if (objective > 0).all() else objective, 9)))


def _undecided(asked: Surface, ordered: FloatArray) -> int:
    """Count the others that a measurement may well show to be as small as the first."""
    ends = asked.interval(ordered)
    return int((ends[0][1:] <= ordered[0]).sum()) if ends else 0


def _objective(fitted: Fitted, found: Field, goal: str) -> FloatArray:
    response = fitted.response.record.response
    if goal == response:
        return found.response
    if found.mean is None:
        raise VgoError(
            f"No mean of a cell is kept here: give --minimise {response}, or name the column of means with --mean."
        )
    return _cost(fitted.response.record.lower_is_better, found.mean)


def _cost(lower_is_better: bool, mean: FloatArray) -> FloatArray:
    """Turn a mean into what is to be small."""
    return mean if lower_is_better else -mean


def _allowed(fitted: Fitted, found: Field, text: str) -> BoolArray:
    size = len(found.response)
    if not text:
        return np.ones(size, dtype=np.bool_)
    record = fitted.response.record
    known: dict[str, Sequence[Level]] = {**found.columns, record.response: found.response.tolist()}
    if found.mean is not None:
        best_mean = float(found.mean.min() if record.lower_is_better else found.mean.max())
        known |= {"mean": found.mean.tolist(), "best": [best_mean] * size}
    elif record.response != "mean" and {"mean", "best"} & set(re.findall(r"\w+", text)) - set(known):
        raise VgoError(
            "The table gives no mean of a cell, so --subject-to cannot speak of it: name the column with --mean."
        )
    met = condition(text, known, "--subject-to")
    rows = zip(*known.values(), strict=True)
    return np.array([met.holds(dict(zip(known, row, strict=True))) for row in rows])


def _combinations(axes: tuple[SurfaceAxis, ...], seed: int) -> list[tuple[Level, ...]]:
    count = math.prod(len(axis.levels) for axis in axes)
    if count <= MOST_CANDIDATES:
        return list(itertools.product(*(axis.levels for axis in axes)))
    rng = np.random.default_rng(seed)
    picks = [rng.integers(len(axis.levels), size=MOST_CANDIDATES) for axis in axes]
    rows = zip(*([axis.levels[at] for at in pick] for axis, pick in zip(axes, picks, strict=True)), strict=True)
    return list(dict.fromkeys(rows))


def _near(surface: Surface, rows: list[tuple[Level, ...]]) -> BoolArray:
    """Say which combinations are no further from a cell than cells are from each other at most."""
    if not rows:
        return np.zeros(0, dtype=np.bool_)
    columns = {axis.name: [row[place] for row in rows] for place, axis in enumerate(surface.record.axes)}
    near: BoolArray = surface.apart(encode(surface.record.axes, columns)) <= 1.0001 * surface.widest_gap
    return near


def pareto_front(first: FloatArray, second: FloatArray) -> IntArray:
    """Give the places that no other beats in both, in the order of `first`; of equal ones the first."""
    order = np.lexsort((second, first))
    lowest = np.minimum.accumulate(second[order])
    front: IntArray = order[np.append(True, lowest[1:] < lowest[:-1])] if len(order) else order
    return front
