"""What carries out the calls that the loop decides on: the machine, or a record."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..tools.record import Record
from ..tools.subject import Limits
from .transcript import Decision, ToolEnd


class Acting(Protocol):
    """What differs between a live diagnosis and a replay."""

    def act(self, decision: Decision, record: Record, limits: Limits) -> ToolEnd:
        """Run a tool within these limits, or serve it from a record."""

    def scope(self, decision: Decision) -> str:
        """Scope of the mitigation that a decision would apply; empty for anything else."""

    def promise(self, decision: Decision) -> str:
        """What the program could no longer rely on under the mitigation; empty where it changes no promise."""

    def question(self, decision: Decision) -> dict[str, Any]:
        """What the user is shown before a change beyond process scope."""

    def observed(self, end: ToolEnd, record: Record) -> None:
        """Bring the files made from the record up to date."""

    def elapsed_s(self, seq: int) -> float | None:
        """Seconds of the budget used when this event is made, or was; None where no clock runs."""

    def asking(self) -> AbstractContextManager[None]:
        """Lasts while a person is asked."""
