"""In the Dask worker: keep the process that measures, pass orders on to it, and end it when it takes too long.

Of the standard library only: the worker stays small, and what it imports is there at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

PAUSE_S = 1.0
STOPPED_S = 10.0
"""A process that measures and has been stopped (SIGSTOP) for so long is not waited for."""
ENDING_S = 10.0
"""For a process that was asked to end: it ends its run and puts settings back."""
PACKAGE = __package__
ABOVE = str(Path(__file__).parents[3])
"""Where `vgo_agent` lies."""


class Station:
    """The process that measures, started when it is needed."""

    def __init__(self) -> None:
        self._cell: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def deliver(self, order: str, limit_s: float) -> str:
        """Pass an order on and return the answer; one that does not come within the limit is lost."""
        with self._turn:
            try:
                answer = self._asked(self._alive(), order.encode() + b"\n", time.monotonic() + limit_s)
            except OSError as error:
                return self._lost(f"the process that measures there has ended ({error.strerror})")
            return answer or self._lost(f"the process that measures there gave no answer within {limit_s:.0f} s")

    def stop(self) -> None:
        """Ask the process to end, whatever it does; its watchdog sees to the rest if it does not."""
        cell, self._cell = self._cell, None
        if cell is None:
            return
        cell.terminate()
        try:
            cell.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            cell.kill()
            cell.wait()

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._cell is None or self._cell.poll() is not None:
            line = f"import sys; sys.path.insert(0, {ABOVE!r}); from {PACKAGE}.cell import main; main()"
            self._cell = subprocess.Popen(
                [sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        return self._cell

    def _asked(self, cell: subprocess.Popen[bytes], order: bytes, until_s: float) -> str:
        assert cell.stdin is not None and cell.stdout is not None
        cell.stdin.write(order)
        cell.stdin.flush()
        answers, kept, stopped_at = cell.stdout.fileno(), b"", 0.0
        while time.monotonic() < until_s:
            if not select.select([answers], [], [], PAUSE_S)[0]:
                stopped_at = (stopped_at or time.monotonic()) if stopped(cell.pid) else 0.0
                if stopped_at and time.monotonic() - stopped_at > STOPPED_S:
                    return ""
                continue
            read = os.read(answers, 1 << 20)
            if not read:
                raise OSError(0, f"exit {cell.wait()}")
            kept += read
            if kept.endswith(b"\n"):
                return kept.decode()
        return ""

    def _lost(self, why: str) -> str:
        self.stop()
        return json.dumps({"lost": True, "error": why})


def stopped(pid: int) -> bool:
    """Tell whether a process is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")
    except OSError:
        return False


_STATION = Station()


def deliver(order: str, limit_s: float) -> str:
    """Have this worker's process do an order: what a Dask task calls."""
    return _STATION.deliver(order, limit_s)


async def stop() -> None:
    """End this worker's process; the worker's loop goes on meanwhile."""
    await asyncio.to_thread(_STATION.stop)
