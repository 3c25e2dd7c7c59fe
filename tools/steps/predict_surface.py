"""predict_surface: where nothing else is left to try, ask a surface that the user measured before."""

from __future__ import annotations

from ..predict_surface import PredictArguments, run
from ..results import PredictResult
from ..situation import Choices, Situation
from ..tool import Tool


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
