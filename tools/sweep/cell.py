"""One cell of a sweep: a combination of levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .level import Level, shown


@dataclass(frozen=True)
class Cell:
    """A combination of levels, numbered as it was drawn."""

    id: str
    values: Mapping[str, Level]
    batch: int = 0
    """Cells of a batch are run in rounds of one another; only an adaptive design has more than one."""
    why: str = ""
    """Why it was chosen, where there was a choice."""

    @property
    def texts(self) -> dict[str, str]:
        """Levels as the program gets them."""
        return {name: shown(level) for name, level in self.values.items()}

    @property
    def name(self) -> str:
        """As a person reads it."""
        return " ".join(f"{name}={text}" for name, text in self.texts.items())

    def row(self) -> dict[str, Any]:
        """As it is kept, so that a sweep that was killed goes on with the same cells."""
        return {"id": self.id, "values": dict(self.values), "why": self.why}


def identity(values: Mapping[str, Level]) -> tuple[str, ...]:
    """What two cells share that are the same."""
    return tuple(map(shown, values.values()))
