"""Any legal call: how far the order that the tools themselves demand leads without a thought."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from ...agent.planners.base import Choice, View
from ...agent.planners.menu import menu

LAST = 120
"""The decision at which it concludes for certain; the chance rises to that in a straight line. Half of the diagnoses
would take 13 decisions and more, where one that finds and confirms a cure takes ten."""


@dataclass(frozen=True)
class RandomLegal:
    """Draws the tool and each choice of its arguments from the menu, all alike; every draw follows from the seed and
    from how many decisions there were, so that it has no state."""

    seed: int
    name: str = "random-legal"

    def choose(self, view: View) -> Choice:
        """Draw the next call."""
        chance = random.Random(f"random-legal:{self.seed}:{view.decisions}")
        listed = menu(view)
        tools = [tool for tool in listed if tool != "conclude"]
        if not tools or chance.random() < view.decisions / LAST:
            return Choice("conclude", {}, "drawn")
        tool = chance.choice(tools)
        drawn: dict[str, Any] = {}
        for slot in listed[tool]:
            drawn |= zip(slot.names, chance.choice(slot.choices), strict=True)
        return Choice(tool, drawn, "drawn")
