"""The control group around vgo-agent and its runs, and a leaf below it in which nothing else runs."""

from __future__ import annotations

from pathlib import Path

from ..schema import Layer
from .base import Probe
from .cgroup_leaf import Leaf
from .cgroup_limits import CgroupLimitsProbe
from .parts import Missing, Parts


def open_cgroup(layer: Layer, root: Path) -> Probe:
    """Open both parts; the leaf where the layer asks for it."""
    limits = CgroupLimitsProbe(layer, root)  # Before the move: it watches the group that the limits are on.
    leaf = [column.name for column in layer.columns if column.name.startswith("leaf.")]
    if not layer.parameters.get("leaf", True):
        return Parts(layer, [limits, Missing(leaf, "it was switched off: --layer cgroup:leaf=true")])
    return Parts(layer, [limits, Leaf(leaf)])
