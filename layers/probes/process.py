"""The probe of the layer `process`: the machine over the run, the process tree, the zombie."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from ..schema import Layer, Value
from .base import Probe
from .machine import CounterFile, sources
from .perf_events import PerfEvents
from .zombie import Zombie


class ProcessProbe(Probe):
    """Reads its parts from the outside in, and out again, so that every pair of readings hugs the run."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Open the parts that the columns of the layer need."""
        columns = [column.name for column in layer.columns]
        with ExitStack() as opened:
            self._parts: list[Probe] = []
            for source in sources(root):
                self._parts.append(CounterFile(source, columns))
                opened.callback(self._parts[-1].close)
            self._parts += [Zombie(columns), PerfEvents([c for c in layer.columns if c.name.startswith("perf.")], root)]
            opened.callback(self._parts[-1].close)
            self._opened = opened.pop_all()

    def before(self) -> None:
        """Read each part; the cheapest comes last."""
        for part in self._parts:
            part.before()

    def started(self, pid: int) -> None:
        """Tell each part."""
        for part in self._parts:
            part.started(pid)

    def at_exit(self, pid: int) -> None:
        """Read the zombie."""
        for part in self._parts:
            part.at_exit(pid)

    def after(self) -> None:
        """Read each part again, in the opposite order."""
        for part in reversed(self._parts):
            part.after()

    def values(self) -> dict[str, Value]:
        """Parse what was read."""
        values: dict[str, Value] = {}
        for part in self._parts:
            values |= part.values()
        return values

    def absent(self) -> Mapping[str, str]:
        """Name what this machine cannot show."""
        return {column: reason for part in self._parts for column, reason in part.absent().items()}

    def close(self) -> None:
        """Close the parts."""
        self._opened.close()
