"""What a diagnosis tells whoever watches, and asks them: one-shot command, tests, the terminal app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..tools.execution.row_log import ProgressEvent
    from .transcript import Decision, ToolEnd


class Interface(Protocol):
    """Called between runs only, never while the user's program runs."""

    def trying(self, command: str) -> None:
        """The first run is about to begin; no folder exists yet."""

    def loading(self, command: str, folder: str) -> None:
        """The run folder exists; trial runs of a diagnosis go on while libraries load."""

    def decided(self, decision: Decision) -> None:
        """The planner has chosen a call."""

    def progressed(self, event: ProgressEvent) -> None:
        """One more run has ended, or something is said; called for every run, so it must return at once most times."""

    def ended(self, decision: Decision, end: ToolEnd) -> None:
        """A call has ended."""

    def approve(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question that the gate asks with what an approval records of it, as `consent.recorded` makes it.

        Where the question has `steps`, a person is to take them: granted says that they have been taken.
        """
