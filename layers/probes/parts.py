"""Several probes as one, which gives only the columns that its layer declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..schema import Layer, Value
from .base import Probe, SpawnCommand
from .machine import Declared


class Parts(Probe):
    """Reads its parts from the outside in, and out again: the cheapest, last in the list, reads nearest to the run."""

    def __init__(self, layer: Layer, parts: Sequence[Probe]) -> None:
        self._layer = layer
        self._parts = [self._keep(part) for part in parts]
        self._declared = Declared(layer)
        self.reads_output = any(part.reads_output for part in parts)

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Let each part wrap, the first outermost."""
        for part in reversed(self._parts):
            command = part.wrap(command)
        return command

    def rest(self) -> None:
        """Tell each part."""
        for part in self._parts:
            part.rest()

    def before(self) -> None:
        """Tell each part."""
        for part in self._parts:
            part.before()

    def started(self, pid: int) -> None:
        """Tell each part."""
        for part in self._parts:
            part.started(pid)

    def at_exit(self, pid: int) -> None:
        """Tell each part."""
        for part in self._parts:
            part.at_exit(pid)

    def after(self) -> None:
        """Tell each part, in the opposite order."""
        for part in reversed(self._parts):
            part.after()

    def said(self, output: bytes, error: bytes) -> None:
        """Tell each part."""
        for part in self._parts:
            part.said(output, error)

    def values(self) -> dict[str, Value]:
        """Gather what the parts read."""
        return self._declared({name: value for part in self._parts for name, value in part.values().items()})

    def absent(self) -> Mapping[str, str]:
        """Name what this machine cannot show."""
        reasons = {name: reason for part in self._parts for name, reason in part.absent().items()}
        return {column.name: reasons[column.name] for column in self._layer.columns if column.name in reasons}


class Missing(Probe):
    """Columns that this machine cannot show; `reason` holds the cure too, in one sentence."""

    def __init__(self, columns: Iterable[str], reason: str) -> None:
        self._absent = dict.fromkeys(columns, reason)
