"""The tabs: what stands on each, and what is in it."""

from __future__ import annotations

from textual.widget import Widget

from .distribution_view import DistributionView
from .plots import CoresView, FactorView, OverlayView, RunOrderView, TreeView
from .sorted_table import PagedTable, SortedTable, StepsTable

TABS = {
    "distribution": "Histogram",
    "order": "Order",
    "tree": "Tree",
    "factor": "Factor",
    "compare": "Compare",
    "cores": "Cores",
    "ranking": "Rank",
    "runs": "Runs",
    "steps": "Steps",
}
"""What stands on each tab: short, so that all of them are seen beside the chat on a screen of 120 columns."""


def views(fancy: bool) -> tuple[Widget, ...]:
    """Make what is in the tabs, in their order."""
    return (
        DistributionView(fancy=fancy),
        RunOrderView(fancy=fancy),
        TreeView(fancy=fancy),
        FactorView(fancy=fancy),
        OverlayView(fancy=fancy),
        CoresView(fancy=fancy),
        SortedTable(fancy=fancy, id="look-ranking"),
        PagedTable(fancy=fancy, id="look-runs"),
        StepsTable(fancy=fancy, id="look-steps"),
    )
