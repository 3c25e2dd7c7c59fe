"""The built-in policy, the loop of the paper: the first tool that is legal and has a usual call decides."""

from __future__ import annotations

from dataclasses import dataclass

from ...tools.registry import TOOLS
from .base import Choice, View


@dataclass(frozen=True)
class Rules:
    """Deterministic; needs no model."""

    name: str = "rules"

    def choose(self, view: View) -> Choice:
        """Ask the tools in their order."""
        for tool, choices in view.legal.tools.items():
            if (suggestion := TOOLS[tool].usual(view, choices)) is not None:
                return Choice(tool, suggestion.arguments, suggestion.why)
        return Choice("conclude", {}, _nothing_left(view))


def _nothing_left(view: View) -> str:
    if view.plan.mitigation:
        return "the plan is carried out"
    return "there is no time left for more" if view.legal.ran_out else "nothing else is left to do"
