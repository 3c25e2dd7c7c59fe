"""The finished calls of a diagnosis, in order: what goes into a tool, what comes out of it, and what each left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.shape import Frozen
from ..layers.loader import load_layers
from ..layers.schema import Layer
from .run_table import LAYERS, RUNS, RunTable, read_layers, read_runs

JsonArguments = Mapping[str, Any]
"""Arguments of a call as a planner gave them."""
DENY_SYSTEM = "deny system"
"""An answer that holds on: no system change for the rest of the diagnosis."""


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


R = TypeVar("R", bound=Result)


class Store(Protocol):
    """Artefacts by SHA-256."""

    def get(self, sha256: str) -> bytes:
        """Return the content; its hash is checked."""


@dataclass(frozen=True)
class Contents:
    """Files by hash, in memory."""

    by_hash: Mapping[str, bytes]

    def get(self, sha256: str) -> bytes:
        """Return a file."""
        return self.by_hash[sha256]


NO_FILES = Contents({})


@dataclass(frozen=True)
class Finished:
    """A call that has ended."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any] | None
    """None: it ended in a ToolError."""
    artefacts: Mapping[str, str]
    """Name to SHA-256."""
    error: str = ""
    standing: str = ""
    """What the user's answer to it says of all later ones; only the refusal of system changes is kept."""
    began_s: float | None = None
    """Seconds of the budget that were used when it began; None where no clock ran."""
    ended_s: float | None = None
    """And when it had ended."""

    @classmethod
    def of(cls, call_id: str, tool: str, arguments: Mapping[str, Any], result: Result) -> Finished:
        """End a call with a result that need not be read again."""
        call = cls(call_id, tool, arguments, result.model_dump(mode="json"), {})
        call._read[type(result)] = result
        return call

    @cached_property
    def _read(self) -> dict[type[Result], Any]:
        return {}

    @property
    def mitigation(self) -> str:
        """That of its arguments; empty where they name none."""
        return str(self.arguments.get("mitigation", ""))

    @property
    def said(self) -> str:
        """What it gave, or why it gave nothing, in a sentence."""
        return self.error if self.result is None else str(self.result.get("summary", ""))

    @property
    def program_s(self) -> float:
        """Seconds of the user's program."""
        return float((self.result or {}).get("spent_s", 0.0))

    @property
    def took_s(self) -> float:
        """Seconds by the clock; 0 where none ran."""
        return 0.0 if self.began_s is None or self.ended_s is None else max(0.0, self.ended_s - self.began_s)

    def read(self, kind: type[R]) -> R:
        """Read the result as its type, once; one of another version is for the user to mend."""
        try:
            found: R = self._read.get(kind) or self._read.setdefault(kind, kind.model_validate(self.result))
        except ValidationError as error:
            raise VgoError(
                f"The result of {self.call_id} ({self.tool}) has another form than this version of vgo-agent writes; "
                "read the run with the version that made it."
            ) from error
        return found


@lru_cache(maxsize=8)
def _table(runs: bytes, layers: bytes, call_id: str) -> RunTable:
    """Parse a table once, for each step reads those of the steps before; nobody changes it."""
    known = read_layers(layers) if layers else load_layers()
    return read_runs(runs, f"the table of {call_id}", known.values())


@dataclass(frozen=True)
class Record:
    """The finished calls, in order, and their artefacts."""

    calls: tuple[Finished, ...]
    store: Store
    reopened_s: float = 0.0
    """Seconds of the budget that were used when more was given after a verdict."""
    only_tries: bool = False
    """One mitigation is tried, and no cause is looked for."""

    def call(self, call_id: str) -> Finished:
        """Return one call that gave a result; raise ToolError when there is none."""
        for call in self.calls:
            if call.call_id == call_id and call.result is not None:
                return call
        raise ToolError(f"No finished call {call_id}.")

    def runs(self, call: Finished) -> RunTable:
        """Read the run table that a measuring call left."""
        layers = self.store.get(call.artefacts[LAYERS]) if LAYERS in call.artefacts else b""
        return _table(self.store.get(call.artefacts[RUNS]), layers, call.call_id)

    def layers(self, call: Finished) -> dict[str, Layer]:
        """Layers that a measuring call used, by spec, as they were then; the shipped ones where none were recorded."""
        if LAYERS not in call.artefacts:
            return load_layers()
        return read_layers(self.store.get(call.artefacts[LAYERS]))

    @cached_property
    def all_layers(self) -> dict[str, Layer]:
        """Layers of all measuring calls, by spec, as they were then; the shipped ones where none were recorded."""
        recorded = [self.layers(call) for call in self.calls if LAYERS in call.artefacts]
        return {spec: layer for layers in recorded for spec, layer in layers.items()} or load_layers()

    @property
    def no_system(self) -> bool:
        """Whether the user has said: no system change for the rest of the diagnosis."""
        return any(call.standing == DENY_SYSTEM for call in self.calls)

    @cached_property
    def clocked(self) -> bool:
        """Whether a clock ran; over recorded and simulated runs there is none."""
        return any(call.ended_s is not None for call in self.calls)

    @cached_property
    def spent_s(self) -> float:
        """Seconds of the budget so far: by the clock, as it was recorded; where none ran, of the program."""
        ends = [call.ended_s for call in self.calls if call.ended_s is not None]
        return max(*ends, self.reopened_s) if ends else self.program_s

    @cached_property
    def program_s(self) -> float:
        """Seconds of the user's program so far, from the recorded runs."""
        return sum(call.program_s for call in self.calls)
