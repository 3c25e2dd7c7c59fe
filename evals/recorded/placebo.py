"""A placebo: a mitigation by name only."""

from __future__ import annotations

from dataclasses import dataclass

from ...knowledge.schema import Mitigation
from ...tools.execution.launch import Launch
from ...tools.mitigation.checks import Check


@dataclass(frozen=True)
class Untouched:
    """A mitigation by name only: the program runs as it always does."""

    mitigation: Mitigation
    launch: Launch
    told: tuple[str, ...]

    def on(self) -> tuple[Check, ...]:
        """Change nothing."""
        return ()

    def off(self) -> tuple[Check, ...]:
        """Change nothing."""
        return ()
