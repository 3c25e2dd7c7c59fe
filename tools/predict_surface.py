"""predict_surface: ask a surface that the user measured before which configuration of the program is steady."""

from __future__ import annotations

from pathlib import Path

from ..knowledge.errors import VgoError
from .base import Arguments, Outcome, ToolError
from .case import Case
from .results import PredictResult


class PredictArguments(Arguments):
    """Nothing to choose: the surface is the user's."""


def run(arguments: PredictArguments, case: Case) -> Outcome:
    """Read the surface, and take its best configuration."""
    from .surface.best import best
    from .surface.stored import load

    try:
        fitted = load(Path(case.plan.surface))
        found, _ = best(fitted, fitted.response.record.response)
    except VgoError as error:
        raise ToolError(str(error)) from error
    record, told = fitted.response.record, found.prediction
    settings = ", ".join(f"{name}={value}" for name, value in found.best.config.items())
    return Outcome(
        PredictResult(
            source=case.plan.surface,
            response=record.response,
            unit=record.unit,
            config={name: value for name, value in found.best.config.items()},
            value=told.value,
            low=told.low,
            high=told.high,
            mean=found.best.mean,
            extrapolated=told.extrapolated,
            measured=found.best.measured,
            near=found.near,
            cells=len(record.values),
            summary=f"The surface of {record.response} over {len(record.values)} cells is lowest at {settings}: "
            f"{told.value:.4g}; {found.near} other configurations may be as good.",
        )
    )
