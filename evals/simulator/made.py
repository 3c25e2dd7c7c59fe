"""Finished calls of simulated diagnoses, with nothing in their store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...tools.base import Result
from ...tools.case import Finished

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Made(Finished):
    """A finished call that keeps its result as it was made, so that reading it again costs nothing."""

    made: Result | None = None

    @classmethod
    def of(cls, call_id: str, tool: str, arguments: Mapping[str, Any], made: Result) -> Made:
        """End a call with a result."""
        return cls(call_id, tool, arguments, made.model_dump(mode="json"), {}, made=made)

    def read(self, kind: type[R]) -> R:
        """Give it as it was made."""
        return self.made if isinstance(self.made, kind) else super().read(kind)
