"""What the user decided beside the limits: one mitigation to try, a parameter of it to search, hands to help."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .subject import Frozen

Aim = Literal["sd", "mean"]
"""What a search makes small."""


NO_MORE = "asked to stop asking"
"""The reason of a refusal after which nothing more is offered to be done by hand."""


class Search(Frozen):
    """Levels of one parameter, each against the others."""

    parameter: str
    levels: tuple[str, ...]
    """In the order asked for; what is dropped first is decided by the runs, not by this order."""
    minimise: Aim = "sd"


class Plan(Frozen):
    """Recorded with the run, since what may be done next depends on it."""

    mitigation: str = ""
    """The only one to try; empty: those of the factors that are found."""
    values: dict[str, str] = {}
    """Of its parameters; those not named have their defaults."""
    pairs: Annotated[int, Field(ge=2, le=10_000)] | None = None
    """Of a batch; None: as many as the baseline's spread asks for."""
    by_hand: bool = False
    """A person applies it, between two series of runs."""
    search: Search | None = None
    after: str = ""
    """Name of the recorded run whose baseline is taken; empty: it is measured now."""
    attended: bool = False
    """Somebody sits at the terminal, who can do what the tool cannot."""


NO_PLAN = Plan()
