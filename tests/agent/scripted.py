"""A planner that reads its choices from a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vgo_agent.agent.planners.base import Choice, View


@dataclass(frozen=True)
class Scripted:
    """The n-th decision is the n-th entry; after the last it concludes."""

    choices: Sequence[Choice]
    name: str = "scripted"

    def choose(self, view: View) -> Choice:
        """Read the next entry."""
        if view.decisions < len(self.choices):
            return self.choices[view.decisions]
        return Choice("conclude", {}, "the script has ended")
