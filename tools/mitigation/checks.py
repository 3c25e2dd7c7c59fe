"""What a check of a mitigation says."""

from __future__ import annotations

from typing import Literal

from ...knowledge.shape import Frozen

ENDED = "the program ended before it could be read"
UNREADABLE = "the kernel does not let us read it"
INCOMPLETE = "not every MPI rank was there"
NOT_IN_FORCE = "not in force: "


class Check(Frozen):
    """One thing that shows whether a mitigation is in force."""

    level: Literal[1, 2, 3]
    what: str
    expected: str
    seen: str
    passed: bool

    @property
    def failure(self) -> str:
        """What a check that was not passed says."""
        return f"{NOT_IN_FORCE}{self.what} is {self.seen}, expected {self.expected}"

    @property
    def proof(self) -> str:
        """What a check of this level shows."""
        return ("the knob reads back", "the process shows it", "the factor moved")[self.level - 1]
