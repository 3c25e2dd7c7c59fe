"""What every built-in probe does around one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Probe(Protocol):
    """Reads counters around one run; parsing waits until `values`, outside the timed window."""

    def before(self) -> None:
        """Read what must be read just before the run is spawned."""

    def at_exit(self, pid: int) -> None:
        """Read what only a zombie still shows; the process has ended and is not reaped."""

    def after(self) -> None:
        """Read again what `before` read."""

    def values(self) -> dict[str, float]:
        """Parse: column name to value; a source that is absent gives no entry."""

    def absent(self) -> Mapping[str, str]:
        """Name the columns that this machine cannot show, each with the reason and the cure."""

    def close(self) -> None:
        """Close what was opened."""
