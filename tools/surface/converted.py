"""A surface of another measure of spread, from the same cells: SD and variance become CV, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...knowledge.errors import VgoError
from ..statistics.values import FloatArray
from .fitted import NO_MODEL, SurfaceRecord, fitted_again, unit_of
from .stored import Fitted

_TO_SD: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "sd": lambda spread, mean: spread,
    "variance": lambda spread, mean: np.sqrt(spread),
    "cv": lambda spread, mean: spread * np.abs(mean),
}
_FROM_SD: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "sd": lambda sd, mean: sd,
    "variance": lambda sd, mean: sd**2,
    "cv": lambda sd, mean: sd / np.abs(mean),
}


def converted(fitted: Fitted, response: str) -> Fitted:
    """Fit the same models to another measure of the spread of the same cells; VgoError where it cannot be had."""
    record = fitted.response.record
    mean = _means(fitted.mean.record, record) if fitted.mean else None
    if response not in _FROM_SD or record.response not in _TO_SD or not fitted.mean or mean is None or not mean.all():
        raise VgoError(
            f"This surface is of the {record.response}: give --minimise {record.response}, or fit one with --response "
            f"{response}."
        )
    values = _FROM_SD[response](_TO_SD[record.response](np.array(record.values), mean), mean)
    told = record.model_copy(
        update={
            "response": response,
            "values": tuple(map(float, values)),
            "unit": unit_of(response, fitted.mean.record.unit),
            "kept_out": None,
        }
    )
    models = [one.model for one in record.scored if one.model != NO_MODEL]
    return replace(fitted, response=fitted_again(told, models))


def _means(means: SurfaceRecord, record: SurfaceRecord) -> FloatArray:
    """Give the measured mean of each cell of the record, shape (cells,)."""
    known = dict(zip(zip(*means.columns.values(), strict=True), means.values, strict=True))
    return np.array([known[row] for row in zip(*record.columns.values(), strict=True)])
