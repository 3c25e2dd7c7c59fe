"""The probe `ledger`: where each run's time went, in milliseconds that add up to its wall time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..schema import Layer
from .base import Probe
from .perf_open import refusal
from .sched_ring import SchedRings
from .timeline import Timelines, totals

MIB = 1 << 20
LOST = "the scheduler's events of the run do not fit into their rings: --layer ledger:ring_mib={}"


class LedgerProbe(Probe):
    """Keeps what the scheduler does on all CPUs while a run lasts, and splits the run's time by it afterwards."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Open the rings; where the kernel refuses, every column is absent."""
        self._columns = [column.name for column in layer.columns]
        self._written: list[bytes] = []
        self._pid = 0
        self._window = (0, 0)
        self._ring_mib = float(layer.parameters["ring_mib"])
        self._rings: SchedRings | None = None
        try:
            self._rings = self._keep(SchedRings(root, int(self._ring_mib * MIB)))
        except OSError as error:
            self._absent = dict.fromkeys(self._columns, refusal(error))

    def before(self) -> None:
        """Let the kernel write."""
        if self._rings is not None:
            self._rings.on()

    def started(self, pid: int) -> None:
        """Note the process."""
        self._pid = pid

    def timed(self, started_ns: int, ended_ns: int) -> None:
        """Note what the run's wall time is counted from and to."""
        self._window = (started_ns, ended_ns)

    def after(self) -> None:
        """Copy what was written."""
        if self._rings is not None:
            self._written = self._rings.off()

    def values(self) -> Mapping[str, float]:
        """Split the time of the process that was started; nothing where events were lost."""
        if self._rings is None:
            return {}
        trace = self._rings.read(self._written)
        if trace.lost:
            self._absent = dict.fromkeys(self._columns, LOST.format(f"{4 * self._ring_mib:g}"))
            return {}
        self._absent = {}
        spent = totals(Timelines(trace, self._pid).walk(self._pid, *self._window))
        return {f"ledger.{state}_ms": nanoseconds / 1e6 for state, nanoseconds in spent.items()}
