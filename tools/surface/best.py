"""The configuration with the smallest response that is still good enough, and the trade between mean and spread."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...knowledge.errors import VgoError
from ..statistics.values import BoolArray, FiniteResult, FloatArray, IntArray
from ..sweep.where import condition
from .ask import predict
from .axes import Level, SurfaceAxis, encode
from .fitted import Prediction, Surface
from .stored import Fitted

MOST_CANDIDATES = 20_000
SHOWN = 10


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
