"""In the Dask worker: keep the process that measures, pass orders on to it, and end it when it takes too long.

Of the standard library only: the worker stays small, and what it imports is there at once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from ..child import Child, Ended

ENDING_S = 10.0
"""For a process that was asked to end: it ends its run and puts settings back; else its watchdog does."""
ABOVE = str(Path(__file__).parents[3])
"""Where `vgo_agent` lies."""
SERVE = f"import sys; sys.path.insert(0, {ABOVE!r}); from {__package__}.host_process import main; main()"


class Station:
    """The process that measures, started when it is needed."""

    def __init__(self) -> None:
        self._cell = Child([sys.executable, "-c", SERVE], ENDING_S)
        self.stop = self._cell.close

    def deliver(self, order: str, limit_s: float) -> str:
        """Pass an order on and return the answer; one that does not come within the limit is lost."""
        try:
            return str(self._cell.ask("answer", {"order": order}, limit_s))
        except Ended as ended:
            return json.dumps({"lost": True, "error": f"of the process that measures there: {ended}"})


_STATION = Station()


def deliver(order: str, limit_s: float) -> str:
    """Have this worker's process do an order: what a Dask task calls."""
    return _STATION.deliver(order, limit_s)


async def stop() -> None:
    """End this worker's process; the worker's loop goes on meanwhile."""
    await asyncio.to_thread(_STATION.stop)
