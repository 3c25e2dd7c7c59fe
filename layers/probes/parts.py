"""Several probes as one, which gives only the columns that its layer declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

from ..schema import Layer, Value
from .base import Probe, SpawnCommand


class Parts(Probe):
    """Reads its parts from the outside in, and out again: the cheapest, last in the list, reads nearest to the run."""

    def __init__(self, layer: Layer, parts: Sequence[Probe]) -> None:
        """Take parts that are open."""
        self._layer = layer
        self._parts = parts
        self._known: dict[str, bool] = {}
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
        gathered = {name: value for part in self._parts for name, value in part.values().items()}
        return {name: value for name, value in gathered.items() if self._declares(name)}

    def absent(self) -> Mapping[str, str]:
        """Name what this machine cannot show."""
        reasons = {name: reason for part in self._parts for name, reason in part.absent().items()}
        return {column.name: reasons[column.name] for column in self._layer.columns if column.name in reasons}

    def close(self) -> None:
        """Close each part, also where closing one fails."""
        with ExitStack() as closing:
            for part in self._parts:
                closing.callback(part.close)

    def _declares(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = self._layer.column(name) is not None
        return self._known[name]


class Missing(Probe):
    """Columns that this machine cannot show."""

    def __init__(self, columns: Iterable[str], reason: str) -> None:
        """Take the reason and the cure, in one sentence."""
        self._absent = dict.fromkeys(columns, reason)

    def absent(self) -> Mapping[str, str]:
        """Name them."""
        return self._absent
