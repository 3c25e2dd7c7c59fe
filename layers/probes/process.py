"""The probe of the layer `process`: the machine over the run, the process tree, the zombie."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from ..schema import Layer
from .base import Probe
from .machine import CounterFile, sources
from .parts import Parts
from .perf_events import PerfEvents
from .zombie import Zombie


def open_process(layer: Layer, root: Path) -> Probe:
    """Open the parts that the columns of the layer need, so that every pair of readings hugs the run."""
    columns = [column.name for column in layer.columns]
    with ExitStack() as opened:
        parts: list[Probe] = []
        for source in sources(root):
            parts.append(CounterFile(source, columns))
            opened.callback(parts[-1].close)
        parts += [Zombie(columns), PerfEvents([c for c in layer.columns if c.name.startswith("perf.")], root)]
        opened.pop_all()
    return Parts(layer, parts)
