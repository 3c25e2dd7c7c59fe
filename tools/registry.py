"""Every tool that a planner can call."""

from __future__ import annotations

from .apply_by_hand import APPLY_BY_HAND
from .apply_mitigation import APPLY_MITIGATION
from .base import Tool
from .compare import COMPARE
from .conclude import CONCLUDE
from .fit_tree import FIT_TREE
from .label import LABEL
from .look_up import LOOK_UP
from .measure import MEASURE
from .predict_surface import PREDICT_SURFACE
from .profile import PROFILE
from .rank_factors import RANK_FACTORS
from .screen_levels import SCREEN_LEVELS

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        MEASURE,
        PROFILE,
        LABEL,
        FIT_TREE,
        RANK_FACTORS,
        LOOK_UP,
        SCREEN_LEVELS,
        APPLY_MITIGATION,
        APPLY_BY_HAND,
        COMPARE,
        PREDICT_SURFACE,
        CONCLUDE,
    )
}
