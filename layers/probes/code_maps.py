"""Which file lies at an address of a process: where it was mapped, or to what it was forked from."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator

from .sched_events import Mapped, SchedTrace
from .timeline import Timelines


class CodeMaps:
    """The mappings of code of a run, by process."""

    def __init__(self, trace: SchedTrace, timelines: Timelines) -> None:
        """Sort them."""
        self.at = functools.cache(self._at)
        self._timelines = timelines
        self._mapped: dict[int, list[Mapped]] = defaultdict(list)
        for one in trace.mapped:
            self._mapped[one.process].append(one)

    def of(self, process: int) -> Iterator[Mapped]:
        """The mappings of a process, the last first, then those of its parent, from before it was forked."""
        yield from reversed(self._mapped.get(process, []))
        if process in self._timelines.born:
            parent = self._timelines.born[process].parent
            yield from self.of(self._timelines.processes.get(parent, parent))

    def _at(self, process: int, address: int) -> Mapped | None:
        """What lies at an address; None where nothing was seen to be mapped there."""
        return next((one for one in self.of(process) if one.start <= address < one.start + one.length), None)
