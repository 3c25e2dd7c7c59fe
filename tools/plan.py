"""What the user decided beside the limits: one mitigation to try, a parameter of it to search, hands to help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..knowledge.loader import Knowledge
from ..knowledge.schema import Mitigation
from ..knowledge.shape import Frozen, is_empty

Aim = Literal["sd", "mean"]
"""What a search makes small."""


NO_MORE = "asked to stop asking"
"""The reason of a refusal after which nothing more is offered to be done by hand."""


class LevelSearch(Frozen):
    """Levels of one parameter, each against the others."""

    parameter: str
    levels: tuple[str, ...]
    """In the order asked for; what is dropped first is decided by the runs, not by this order."""
    minimise: Aim = "sd"


class TrialPlan(Frozen):
    """Recorded with the run, since what may be done next depends on it."""

    mitigation: str = ""
    """The only one to try; empty: those of the factors that are found."""
    values: dict[str, str] = {}
    """Of its parameters; those not named have their defaults."""
    pairs: Annotated[int, Field(ge=2, le=10_000)] | None = None
    """Of a batch; None: as many as the baseline's spread asks for."""
    by_hand: bool = False
    """A person applies it, between two series of runs."""
    search: LevelSearch | None = None
    after: str = ""
    """Name of the recorded run whose baseline is taken; empty: it is measured now."""
    own: Mitigation | None = None
    """As the user's file says it; None: it ships with vgo-agent."""
    source: str = ""
    """That file; empty with None."""
    surface: str = Field(default="", exclude_if=is_empty)
    """Folder of a surface of this program, asked where nothing that was tried has reached the target; empty: none."""

    @property
    def file(self) -> Path | None:
        """Where the mitigation was read, if not among those that ship."""
        return Path(self.source) if self.source else None

    def known(self, knowledge: Knowledge) -> Knowledge:
        """Add the user's own mitigation to what is known."""
        if self.own is None:
            return knowledge
        return replace(knowledge, mitigations={**knowledge.mitigations, self.own.key: self.own})


NO_PLAN = TrialPlan()
