"""Every tool that a planner can call, in the order in which the rule policy asks them what to do next."""

from __future__ import annotations

from typing import Any

from .steps.apply_by_hand import ApplyByHandTool
from .steps.apply_mitigation import ApplyMitigationTool
from .steps.compare import CompareTool
from .steps.conclude import ConcludeTool
from .steps.fit_tree import FitTreeTool
from .steps.label import LabelTool
from .steps.look_up import LookUpTool
from .steps.measure import MeasureTool
from .steps.predict_surface import PredictSurfaceTool
from .steps.profile import ProfileTool
from .steps.rank_factors import RankFactorsTool
from .steps.screen_levels import ScreenLevelsTool
from .tool import Tool

TOOLS: dict[str, Tool[Any, Any]] = {
    tool.name: tool()
    for tool in (
        MeasureTool,
        ProfileTool,
        LabelTool,
        FitTreeTool,
        RankFactorsTool,
        CompareTool,
        ConcludeTool,
        ScreenLevelsTool,
        ApplyMitigationTool,
        ApplyByHandTool,
        LookUpTool,
        PredictSurfaceTool,
    )
}
