"""What a tool is: typed arguments in, a typed result and artefacts out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from .case import Case


class ToolError(Exception):
    """What the planner can mend: it becomes an event, and the planner chooses again."""


class Arguments(BaseModel):
    """The only place where a planner's words are validated."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Result(BaseModel):
    """Numbers as typed fields; `summary` is all that a model reads."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # older records have fields that have gone

    summary: str


@dataclass(frozen=True)
class Outcome:
    """A result with the files that go with it, by name."""

    result: Result
    artefacts: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """One thing that a planner can call."""

    name: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    run: Callable[[Any, Case], Outcome]
    measures: bool = False
    """It runs the user's program, or reads what lies beside the record, so that replay serves it from the record."""
