"""One cell of a sweep: a combination of levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..execution.resolve import resolve
from ..subject import Subject
from .level import Level, shown
from .space import Parameter, Space

SubjectOf = Callable[[Mapping[str, str]], Subject]
"""Gives the program of a cell by its levels; raises VgoError where there is none."""


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
        return texts_of(self.values)

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


def texts_of(levels: Mapping[str, Level]) -> dict[str, str]:
    """Write levels as the program gets them."""
    return {name: shown(level) for name, level in levels.items()}


class CellSettings(Frozen):
    """What a cell asks for, here or on a host: the levels of parameters, and its program."""

    parameters: dict[str, Parameter]
    levels: dict[str, Level]
    subject: Subject | None = None
    """Its program; None where there is none."""
    why: str = ""
    """Why there is none."""

    @classmethod
    def of(cls, space: Space, levels: Mapping[str, Level], subject_of: SubjectOf) -> CellSettings:
        """Find the program of a cell."""
        try:
            return cls(parameters=space.parameters, levels=dict(levels), subject=subject_of(texts_of(levels)))
        except VgoError as error:
            return cls(parameters=space.parameters, levels=dict(levels), why=str(error))

    def program(self) -> Subject:
        """Find the program on this machine; raises VgoError where there is none."""
        if self.subject is None:
            raise VgoError(self.why)
        argv = self.subject.argv if self.subject.shell else resolve(self.subject.argv)
        return self.subject.model_copy(update={"argv": argv})
