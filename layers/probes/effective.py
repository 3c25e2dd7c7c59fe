"""The clock at which the program itself ran: cycles that the processor counts while the program is on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..schema import Column
from .perf_events import PerfEvents

EFFECTIVE = "freq.effective_mhz"
BOOST = "msr/aperf/ / msr/mperf/"
"""APERF counts cycles, MPERF what they would be at the nominal clock."""
NOMINAL = "msr/tsc/ / task-clock"
"""The nominal clock, per unit of task-clock: ns."""


class Effective(PerfEvents):
    """Follows the program and its descendants, over exactly the time that they run."""

    def __init__(self, root: Path, boost: str = BOOST) -> None:
        reads = {"boost": boost, "nominal": NOMINAL}
        columns = [Column(name=name, description="", unit="", read=read) for name, read in reads.items()]
        super().__init__(columns, root)

    def values(self) -> dict[str, float]:
        """Return the mean over all threads and processes of the run."""
        found = super().values()
        return {EFFECTIVE: found["boost"] * found["nominal"] * 1e3} if len(found) == 2 else {}

    def absent(self) -> Mapping[str, str]:
        """Name the column where the processor's counts are not shown."""
        for reason in super().absent().values():
            why = reason.partition(":")[0]
            return {
                EFFECTIVE: f"the processor's counts of its cycles are not shown ({why}): run on bare metal, as root"
            }
        return {}
