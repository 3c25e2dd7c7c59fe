"""What a user may ask of a diagnosis that goes on: the next step, and other limits; both stand in the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..tools.subject import Limits
from .record import bodies
from .transcript import Decision, Event, LimitsChanged

if TYPE_CHECKING:
    from .planners.base import Choice, View

USER = "user"
"""Origin of a decision that the user took."""


class Steering:
    """Asked before every decision; by itself, nobody steers."""

    def limits(self, decisions: int, now: Limits) -> Limits:
        """Give the limits from here on; `now` where nobody has changed them."""
        return now

    def wish(self, view: View) -> Choice | None:
        """Give the call that the user wants next; None: the planner chooses."""
        return None

    def goes_on(self, decisions: int) -> bool:
        """Tell whether the verdict after so many decisions was not the last: other limits were set after it."""
        return False


@dataclass(frozen=True)
class GivenMore(Steering):
    """Another budget, and further changes of a promise accepted, from the next step on."""

    budget_s: float | None
    """None: the one that there is."""
    accept: tuple[str, ...] = ()

    def limits(self, decisions: int, now: Limits) -> Limits:
        """Set them."""
        accept = tuple(dict.fromkeys((*now.accept, *self.accept)))
        return now.model_copy(update={"budget_s": self.budget_s or now.budget_s, "accept": accept})


class Resteered(Steering):
    """Steers a replay as the user did."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._decisions = bodies(events, Decision)
        self._limits: dict[int, Limits] = {}
        taken = 0
        for event in events:
            taken += isinstance(event.body, Decision)
            if isinstance(event.body, LimitsChanged):
                self._limits[taken] = event.body.limits

    def limits(self, decisions: int, now: Limits) -> Limits:
        """Give those that were given here."""
        return self._limits.get(decisions, now)

    def wish(self, view: View) -> Choice | None:
        """Give the user's decision where there was one."""
        from .planners.base import Choice

        taken = self._decisions[view.decisions] if view.decisions < len(self._decisions) else None
        if taken is None or taken.origin != USER:
            return None
        return Choice(taken.tool, taken.arguments, taken.why)

    def goes_on(self, decisions: int) -> bool:
        """Tell whether the record goes on."""
        return decisions < len(self._decisions)
