"""predict_surface: ask a surface that the user measured before which configuration of the program is steady."""

from __future__ import annotations

from pathlib import Path

from ...knowledge.errors import VgoError
from ..case import Case, Choices, Situation
from ..record import Arguments, Outcome, ToolError
from ..results import PredictResult
from ..tool import Tool


class PredictArguments(Arguments):
    """Nothing to choose: the surface is the user's."""


def run(arguments: PredictArguments, case: Case) -> Outcome:
    """Read the surface, and take its best configuration."""
    from ..surface.predict import best
    from ..surface.stored import load

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


class PredictSurfaceTool(
    Tool[PredictArguments, PredictResult], run=run, title="Predict from the surface", measures=True
):
    """Ask the surface that the user gave which configuration is steady."""

    why = "nothing else is left to try: ask the surface which configuration is steady"

    def legal(self, situation: Situation) -> Choices | None:
        """Once, where the user gave one and the baseline varies."""
        measured, plan = situation.findings.measured, situation.plan
        called = situation.findings.called("predict_surface")
        if plan.mitigation or not plan.surface or called or not situation.time_to_spare:
            return None
        return () if measured and not measured.unusable and not measured.steady else None
