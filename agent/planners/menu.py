"""Every call that may be made next, with closed choices: what a model chooses from, and nothing else.

Amounts that a schema leaves free (runs, seconds, pairs) are what the rule policy would spend, half of it and twice it,
so that a menu is finite, and every call on it is legal and within the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...tools.registry import TOOLS
from ...tools.situation import Choices
from .base import View

Menu = Mapping[str, Choices]
"""Tool to the slots of its arguments, each to be filled."""


def menu(view: View) -> Menu:
    """List what may be done next; `conclude` always is there."""
    return {tool: (*choices, *TOOLS[tool].amounts(view, choices)) for tool, choices in view.legal.tools.items()}


def calls(listed: Menu) -> int:
    """Count the different calls on a menu."""
    return sum(prod(len(slot.choices) for slot in slots) for slots in listed.values())
