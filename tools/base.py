"""What goes into a tool and comes out: typed arguments, a typed result and artefacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..knowledge.shape import Frozen

JsonArguments = Mapping[str, Any]
"""Arguments of a call as a planner gave them."""


class ToolError(Exception):
    """What the planner can mend: it becomes an event, and the planner chooses again."""


class Arguments(Frozen):
    """The only place where a planner's words are validated."""


class Result(BaseModel):
    """Numbers as typed fields; `summary` is all that a model reads."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # older records have fields that have gone

    summary: str


@dataclass(frozen=True)
class Outcome:
    """A result with the files that go with it, by name."""

    result: Result
    artefacts: Mapping[str, bytes] = field(default_factory=dict)
