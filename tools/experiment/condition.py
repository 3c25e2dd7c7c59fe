"""What a run has changed about it, and which runs belong together."""

from __future__ import annotations

from typing import NamedTuple

from ...knowledge.schema import Mitigation
from ...knowledge.shape import Frozen
from ..row import BASELINE
from ..study.setting import StudySetting

OUTSIDE = -1
"""Number of a block whose runs are in no pair."""


class Condition(Frozen):
    """One way in which the program runs; JSON both ways, so that it travels to a host as it is."""

    name: str
    """As the column `condition` has it."""
    mitigation: Mitigation | None = None
    """In force in its runs, with the values of its parameters; None: nothing is set."""
    source: str = ""
    """The user's file that the mitigation was read from; empty where it is one of ours."""
    setting: StudySetting | None = None
    """Of a study, and what it changes about the start of the program."""
    layers: tuple[str, ...] | None = None
    """On in its runs; None: those of the series."""


AS_GIVEN = Condition(name=BASELINE)
"""The program as it is given."""


class Block(NamedTuple):
    """Runs that belong together: made on one host, in this order, nothing between."""

    number: int
    """Of its first pair; OUTSIDE where its runs are in none."""
    order: tuple[str, ...]
    """Keys of conditions."""
    pairs: int = 1
    """That it holds: all of one condition, then all of the other."""

    def pair(self, place: int) -> int:
        """Number of the pair that the run at this place is in."""
        return self.number + place % self.pairs


BARRIER = Block(OUTSIDE, ())
"""All blocks before it have ended before the next one is asked for."""
