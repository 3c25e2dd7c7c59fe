"""What a tool says of itself: all that loop, menu, rule policy, costs, app, report and simulator know of it."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from .case import Case, Choices, Situation, Suggestion, first
from .findings import Findings
from .record import Arguments, JsonArguments, Outcome, Result
from .simulated import World

A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=Result)
MitigationHand = Literal["nothing", "itself", "by hand"]


class Tool(ABC, Generic[A, R]):
    """One thing that a planner can call; its place in `registry.TOOLS` is its rank in the rule policy."""

    name: ClassVar[str]
    """That of its class, in small letters."""
    title: ClassVar[str]
    """As a person names the step; what it is about follows."""
    arguments: type[A]
    result: type[R]
    run: Callable[[A, Case], Outcome]
    why: ClassVar[str] = ""
    """Why the rule policy calls it."""
    measures: ClassVar[bool]
    """It runs the user's program, or reads what lies beside the record, so that replay serves it from the record."""
    analyses: ClassVar[bool]
    """The time that it takes tells how long the report will take."""
    applies: ClassVar[MitigationHand]
    """Who applies the mitigation that its arguments name; what applies one measures."""

    def __init_subclass__(
        cls,
        *,
        run: Callable[[Any, Case], Outcome],
        title: str = "",
        measures: bool = False,
        analyses: bool = False,
        applies: MitigationHand = "nothing",
    ) -> None:
        """Take arguments and result from the base that names them; the title is the name unless another is given."""
        cls.arguments, cls.result = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        cls.name = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__.removesuffix("Tool")).lower()
        cls.title = title or cls.name.replace("_", " ").capitalize()
        cls.run = staticmethod(run)
        cls.measures, cls.analyses, cls.applies = measures or applies != "nothing", analyses, applies

    @property
    def help(self) -> str:
        """What a planner reads of it: its docstring."""
        return self.__doc__ or ""

    @abstractmethod
    def legal(self, situation: Situation) -> Choices | None:
        """What it may be called with; None: not now."""

    def usual(self, situation: Situation, choices: Choices) -> Suggestion | None:
        """What the rule policy would do where it is legal with these choices; None: leave it to the next tool."""
        return Suggestion(first(choices), self.why)

    def amounts(self, situation: Situation, choices: Choices) -> Choices:
        """Choices for the arguments that `legal` leaves free: the usual one first."""
        return ()

    def missed(self, now: Choices | None, more: Choices) -> tuple[str, ...]:
        """What only the budget keeps from being done, in words: of what is legal now, and would be without an end."""
        return ()

    def simulate(self, world: World, found: Findings, arguments: JsonArguments, chance: random.Random) -> R:
        """What it would have said in a simulated world, by its arguments as JSON."""
        raise NotImplementedError(f"{self.name} is never legal in a simulated world")
