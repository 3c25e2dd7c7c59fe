"""predict_surface: where nothing else is left to try, ask a surface that the user measured before."""

from __future__ import annotations

from ..predict_surface import PredictArguments, PredictResult, run
from ..situation import Choices, Situation
from ..tool import Tool

"""It reads a file beside the record, so replay serves it as it serves what was measured."""


class PredictSurfaceTool(Tool[PredictArguments, PredictResult]):
    """Ask the surface that the user gave which configuration is steady."""

    name, title = "predict_surface", "Predict from the surface"
    measures = True
    why = "nothing else is left to try: ask the surface which configuration is steady"
    run = staticmethod(run)

    def legal(self, situation: Situation) -> Choices | None:
        """Once, where the user gave one and the baseline varies."""
        measured, plan = situation.findings.measured, situation.plan
        called = any(call.tool == "predict_surface" for call in situation.record.calls)
        if plan.mitigation or not plan.surface or called or not situation.time_to_spare:
            return None
        return () if measured and not measured.unusable and not measured.steady else None
