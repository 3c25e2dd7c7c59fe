"""What a planner is: it sees the record and what is legal, and chooses the next call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from ...tools.case import Choices, Situation
from ...tools.record import Record
from ...tools.registry import TOOLS
from ...tools.subject import NO_PLAN, Limits, TrialPlan
from ..legal import Legal, legal_in, situation
from ..model.facts import Said


@dataclass(frozen=True)
class View(Situation):
    """All that a planner decides on."""

    legal: Legal
    decisions: int
    """Decisions taken before this one."""


def view_of(record: Record, limits: Limits, decisions: int, plan: TrialPlan = NO_PLAN) -> View:
    """Work out what may be done next."""
    now = situation(record, limits, plan)
    return View(record, limits, legal_in(now), decisions, plan=plan, kept_s=now.kept_s)


@dataclass(frozen=True)
class Choice:
    """The next call, and why."""

    tool: str
    arguments: Mapping[str, Any]
    why: str
    said: Said | None = None
    """What a language model wrote, where one was asked."""


class Planner(Protocol):
    """Chooses; it keeps no state of its own, so that a resumed run goes on as if nothing had happened."""

    @property
    def name(self) -> str:
        """As it stands in decisions."""

    def choose(self, view: View) -> Choice:
        """Choose the next call."""


Menu = Mapping[str, Choices]
"""Tool to the slots of its arguments, each to be filled."""


def menu(view: View) -> Menu:
    """List what may be done next; `conclude` always is there."""
    return {tool: (*choices, *TOOLS[tool].amounts(view, choices)) for tool, choices in view.legal.tools.items()}


def calls(listed: Menu) -> int:
    """Count the different calls on a menu."""
    return sum(prod(len(slot.choices) for slot in slots) for slots in listed.values())


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
