"""Every tool that a planner can call, in the order in which the rule policy asks them what to do next."""

from __future__ import annotations

from typing import Any

from .steps.apply_by_hand import APPLY_BY_HAND
from .steps.apply_mitigation import APPLY_MITIGATION
from .steps.compare import COMPARE
from .steps.conclude import CONCLUDE
from .steps.fit_tree import FIT_TREE
from .steps.label import LABEL
from .steps.look_up import LOOK_UP
from .steps.measure import MEASURE
from .steps.predict_surface import PREDICT_SURFACE
from .steps.profile import PROFILE
from .steps.rank_factors import RANK_FACTORS
from .steps.screen_levels import SCREEN_LEVELS
from .tool import Tool

TOOLS: dict[str, Tool[Any, Any]] = {
    tool.name: tool
    for tool in (
        MEASURE,
        PROFILE,
        LABEL,
        FIT_TREE,
        RANK_FACTORS,
        COMPARE,
        CONCLUDE,
        SCREEN_LEVELS,
        APPLY_MITIGATION,
        APPLY_BY_HAND,
        LOOK_UP,
        PREDICT_SURFACE,
    )
}
