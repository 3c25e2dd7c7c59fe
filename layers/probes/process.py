"""The probe of the layer `process`: the machine over the run, the process tree, the zombie."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from ..schema import Layer
from .base import Probe
from .machine import CounterFile, sources
from .perf_software import PerfSoftware
from .zombie import Zombie


class ProcessProbe:
    """Reads its parts from the outside in, and out again, so that every pair of readings hugs the run."""

    def __init__(self, layer: Layer) -> None:
        """Open the parts that the columns of the layer need."""
        columns = [column.name for column in layer.columns]
        with ExitStack() as opened:
            self._parts: list[Probe] = []
            for source in sources():
                self._parts.append(CounterFile(source, columns))
                opened.callback(self._parts[-1].close)
            self._parts += [Zombie(columns), PerfSoftware(columns)]
            opened.callback(self._parts[-1].close)
            self._opened = opened.pop_all()

    def before(self) -> None:
        """Read each part; the cheapest comes last."""
        for part in self._parts:
            part.before()

    def at_exit(self, pid: int) -> None:
        """Read the zombie."""
        for part in self._parts:
            part.at_exit(pid)

    def after(self) -> None:
        """Read each part again, in the opposite order."""
        for part in reversed(self._parts):
            part.after()

    def values(self) -> dict[str, float]:
        """Parse what was read."""
        values: dict[str, float] = {}
        for part in self._parts:
            values |= part.values()
        return values

    def absent(self) -> Mapping[str, str]:
        """Name what this machine cannot show."""
        return {column: reason for part in self._parts for column, reason in part.absent().items()}

    def close(self) -> None:
        """Close the parts."""
        self._opened.close()
