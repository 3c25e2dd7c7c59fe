"""What a tool says of itself: all that loop, menu, rule policy, costs, app, report and simulator know of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from .base import Arguments, Outcome, Result
from .case import Case, Record
from .simulated import World
from .situation import Choices, Situation, Suggestion

A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=Result)


def _no_amounts(situation: Situation, choices: Choices) -> Choices:
    return ()


def _nothing_missed(now: Choices | None, more: Choices) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Tool(Generic[A, R]):
    """One thing that a planner can call; its place in `registry.TOOLS` is its rank in the rule policy."""

    name: str
    title: str
    """As a person names the step; what it is about follows."""
    help: str
    arguments: type[A]
    result: type[R]
    run: Callable[[A, Case], Outcome]
    legal: Callable[[Situation], Choices | None]
    """What it may be called with; None: not now."""
    usual: Callable[[Situation, Choices], Suggestion | None]
    """What the rule policy would do where it is legal with these choices; None: leave it to the next tool."""
    amounts: Callable[[Situation, Choices], Choices] = _no_amounts
    """Choices for the arguments that `legal` leaves free: the usual one first."""
    missed: Callable[[Choices | None, Choices], tuple[str, ...]] = _nothing_missed
    """What only the budget keeps from being done, in words: of what is legal now, and would be without an end."""
    simulate: Callable[[World, Record, Mapping[str, Any], random.Random], R] | None = None
    """What it would have said in a simulated world, by its arguments as JSON; None: it is never legal in one."""
    measures: bool = False
    """It runs the user's program, or reads what lies beside the record, so that replay serves it from the record."""
    analyses: bool = False
    """The time that it takes tells how long the report will take."""
    applies: Literal["nothing", "itself", "by hand"] = "nothing"
    """Who applies the mitigation that its arguments name."""
